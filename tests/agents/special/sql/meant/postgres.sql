WITH t AS (SELECT 1 AS id, 'ada' AS name, 1.5 AS v, DATE '2024-01-05' AS d, '{"a": 1, "b": [5, 6], "x.y": "dot"}'::jsonb AS j UNION ALL SELECT 2, 'bob', NULL, '2024-02-06', '{"a": 2}' UNION ALL SELECT 3, 'ada', 2.5, '2024-03-07', '{"a": 3}')
SELECT string_agg(DISTINCT name, ', ') FROM t
SELECT jsonb_object_agg(DISTINCT name, v) FROM t
SELECT v::int/2, v::numeric, v::real FROM t
SELECT to_char(d,'Mon YYYY'), d - DATE '2024-01-01', d + 3, d + interval '1 mon' FROM t
SELECT name FROM t ORDER BY v DESC
SELECT name FROM t ORDER BY v DESC NULLS LAST
SELECT name FROM t ORDER BY v NULLS FIRST
SELECT log(8,2), log(100), 7/2, -7/2, 7%3, 2^3
SELECT extract(epoch from interval '1 day'), date_part('dow', d) FROM t
SELECT name FROM t WHERE name ~ '^a' AND name !~ 'b' AND name NOT ILIKE 'z%'
SELECT regexp_replace(name,'a','X','g'), split_part(name,'d',1), left(name,-1) FROM t
SELECT 'x' || NULL, concat('x',NULL)
SELECT j->>'a', j->'a', j#>>'{a}', j @> '{"a":1}', j ? 'a' FROM t
SELECT count(*) FILTER (WHERE v>1), avg(v)::numeric(5,2), round(avg(v),1) FROM t
SELECT d::timestamptz AT TIME ZONE 'UTC' FROM t
SELECT generate_series(DATE '2024-01-01', DATE '2024-03-01', INTERVAL '1 month')
SELECT age(d) > interval '1 day', date_trunc('week', d)::date FROM t
SELECT ARRAY[1,2] || 3, array_length(ARRAY[1,2],1), 1 = ANY('{1,2}'::int[])
SELECT coalesce(sum(v),0), bool_or(v>1), mode() WITHIN GROUP (ORDER BY name) FROM t
SELECT name, sum(v) FROM t GROUP BY CUBE(name)
SELECT substring(name from 2), substring(name, 2, 1), position('d' in name), overlay(name placing 'x' from 1) FROM t
SELECT CAST('1 day' AS interval) * 2, make_interval(days => 3)
SELECT -2 * -3, - -2, 2 - -1, 10 - (5 - 3), 10 - 5 - 3, 7 / 2 * 2, 7 % 4 * 2, 2 * 7 % 4, -7 % 3, 1 + 7 % 4, (1 + 7) % 4
SELECT NOT 1 = 2, NOT (1 = 2 AND 3 = 3), 1 = 1 AND NOT 2 = 3
SELECT 1 FROM t WHERE NOT v IS NULL AND id NOT IN (1, 2)
SELECT 1 FROM t WHERE id NOT BETWEEN 1 AND 2 OR name NOT LIKE 'a%'
SELECT name FROM t WHERE name LIKE 'a!%' ESCAPE '!'
SELECT CASE WHEN v IS NULL THEN 1 ELSE 0 END + 1 FROM t ORDER BY id
SELECT CASE name WHEN 'ada' THEN 1 WHEN 'bob' THEN 2 END FROM t ORDER BY id
SELECT count(*), count(v), count(DISTINCT name), sum(DISTINCT v) FROM t
SELECT id, rank() OVER (PARTITION BY name ORDER BY v DESC, id) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id ROWS 1 PRECEDING) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id RANGE UNBOUNDED PRECEDING) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id
SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM t ORDER BY id
SELECT id, sum(v) OVER w, avg(v) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (ORDER BY id) ORDER BY id
SELECT id, first_value(name) OVER (ORDER BY id), nth_value(name, 2) OVER (ORDER BY id) FROM t ORDER BY id
SELECT id, lag(v, 1, 0) OVER (ORDER BY id) FROM t ORDER BY id
SELECT name FROM t GROUP BY name HAVING count(*) > 1 ORDER BY 1
SELECT name, v FROM t ORDER BY v, id
SELECT name, v FROM t ORDER BY v DESC, id
SELECT name, v FROM t ORDER BY v ASC NULLS LAST, id
SELECT name, v FROM t ORDER BY v NULLS FIRST, id
SELECT name, v FROM t ORDER BY v DESC NULLS LAST, id
SELECT name, v FROM t ORDER BY v IS NULL, v
SELECT a.id, b.id FROM t a INNER JOIN t b ON a.name = b.name ORDER BY 1, 2
SELECT a.id, b.id FROM t a LEFT OUTER JOIN t b ON a.id = b.id + 1 ORDER BY 1, 2
SELECT a.id, b.id FROM t a RIGHT JOIN t b ON a.id = b.id + 1 ORDER BY 2, 1
SELECT a.id, b.id FROM t a FULL OUTER JOIN t b ON a.id = b.id + 1 ORDER BY 2, 1
SELECT id FROM t a JOIN t b USING (id) ORDER BY 1
SELECT count(*) FROM t a NATURAL JOIN t b
SELECT count(*) FROM t a, t b LEFT JOIN t c ON b.id = c.id
SELECT count(*) FROM t a CROSS JOIN t b JOIN t c ON c.id = a.id
SELECT count(*) FROM (t a JOIN t b ON a.id = b.id) JOIN t c ON c.id = b.id
SELECT count(*) FROM t a JOIN (t b JOIN t c ON b.id = c.id) ON a.id = b.id
SELECT count(*) FROM t a JOIN t b JOIN t c ON b.id = c.id ON a.id = b.id
SELECT id FROM t UNION SELECT 9 INTERSECT SELECT 9 ORDER BY 1
SELECT id FROM t EXCEPT SELECT 1 UNION SELECT 9 ORDER BY 1
SELECT id FROM t UNION ALL SELECT id FROM t EXCEPT SELECT 1 ORDER BY 1
SELECT id FROM t UNION SELECT id FROM t UNION ALL SELECT 1 ORDER BY 1
SELECT id FROM t UNION ALL (SELECT id FROM t UNION SELECT 1) ORDER BY 1
SELECT * FROM (SELECT id FROM t ORDER BY id LIMIT 2) x ORDER BY id DESC LIMIT 1
SELECT id FROM t ORDER BY id LIMIT 1 OFFSET 1
SELECT x.a FROM (SELECT 1 AS a) AS x
SELECT (SELECT max(v) FROM t WHERE t.id = u.id) FROM t u ORDER BY u.id
SELECT id FROM t WHERE v = (SELECT max(v) FROM t)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.id > t.id) ORDER BY id
SELECT id FROM t WHERE (id, name) IN ((1, 'ada'), (2, 'x'))
SELECT id FROM t WHERE (id, name) IN (SELECT id, name FROM t WHERE id > 1) ORDER BY id
SELECT id FROM t WHERE (id, name) = (1, 'ada')
SELECT id FROM t WHERE (id, name) < (2, 'z') ORDER BY id
SELECT coalesce(v, 0), nullif(id, 1) FROM t ORDER BY id
SELECT cast(v AS int), cast(id AS char(5)), cast('2024-01-05' AS date) FROM t ORDER BY id
SELECT 'it''s', 'a\nb', 'x--y', '/* z */'
SELECT "name" FROM t ORDER BY id
SELECT name n FROM t ORDER BY n
SELECT t.* FROM t ORDER BY id
SELECT DISTINCT name, v FROM t ORDER BY 1, 2
SELECT ALL name FROM t ORDER BY 1
SELECT DISTINCT(name) FROM t ORDER BY 1
SELECT sum(v) FILTER (WHERE id > 1) FROM t
SELECT substring(name, 2), substring(name, 2, 1), substr(name, 1, 2) FROM t ORDER BY id
SELECT substring(name FROM 2), substring(name FROM 2 FOR 1) FROM t ORDER BY id
SELECT trim(' a '), trim(both 'x' from 'xax'), trim(leading 'x' from 'xax'), trim(trailing 'x' from 'xax'), trim('x' from 'xax')
SELECT trim(both from ' a ')
SELECT position('d' IN name) FROM t ORDER BY id
SELECT upper(name), lower(name), length(name), round(v, 1), abs(-1), mod(7, 3), power(2, 3), sqrt(4) FROM t ORDER BY id
SELECT extract(year FROM d), extract(month FROM d), extract(day FROM d) FROM t ORDER BY id
SELECT extract(week FROM d), extract(quarter FROM d) FROM t ORDER BY id
SELECT extract(dow FROM d), extract(doy FROM d), extract(epoch FROM d), extract(isodow FROM d) FROM t ORDER BY id
SELECT extract('year' FROM d) FROM t ORDER BY id
SELECT CURRENT_DATE = CURRENT_DATE, current_timestamp IS NOT NULL
SELECT d + INTERVAL '1' DAY, d - INTERVAL '2' MONTH FROM t ORDER BY id
SELECT d + INTERVAL '1 day', d + INTERVAL '1 year 2 months' FROM t ORDER BY id
SELECT d + INTERVAL '1 02:03:04' DAY TO SECOND FROM t ORDER BY id
SELECT d + INTERVAL '1-2' YEAR TO MONTH FROM t ORDER BY id
SELECT DATE '2024-01-05', TIMESTAMP '2024-01-05 10:00:00', TIME '10:00:00'
SELECT 1 <> 2, 1 != 2, NULL IS NULL, 1 IS NOT NULL
SELECT TRUE, FALSE, NOT TRUE, v > 1 IS TRUE, (v > 1) IS NOT TRUE, (v > 1) IS UNKNOWN FROM t ORDER BY id
SELECT v IS DISTINCT FROM 1.5, v IS NOT DISTINCT FROM NULL FROM t ORDER BY id
SELECT 'a' || 'b' || 'c', 'a' || 1, 'x' || v FROM t ORDER BY id
SELECT 1 | 2, 3 & 1, 1 << 3, 16 >> 2, ~1, 5 | 2 & 3, 1 + 1 << 2
SELECT 5 ^ 3, 5 # 3
SELECT 2 ^ 3 ^ 2, -2 ^ 2
SELECT 7 / 2, 7.0 / 2, 7 / 2.0, 1 / 3 * 3
SELECT 1e3, .5, 1., 1.5e-3, 0.1 + 0.2, 12345678901234567890
SELECT concat('a', 'b', NULL), concat_ws('-', 'a', NULL, 'b')
SELECT greatest(1, 2, 3), least(3, 2, 1)
SELECT name FROM t WHERE name = ANY (SELECT 'ada') ORDER BY id
SELECT id FROM t WHERE v > ALL (SELECT 1) ORDER BY id
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x(n, s)
SELECT x.n FROM t JOIN (VALUES (1)) AS x(n) ON x.n = t.id
SELECT j ->> 'a', j -> 'b' FROM t ORDER BY id
SELECT j ->> '$.a', j -> '$.b[0]' FROM t ORDER BY id
SELECT j -> 'b' -> 0, j -> 'b' ->> 1 FROM t ORDER BY id
SELECT j ->> 'x.y' FROM t ORDER BY id
SELECT j ->> 'a' = '1' FROM t ORDER BY id
SELECT j ->> 'a' || 'z' FROM t ORDER BY id
SELECT (j ->> 'a') IN ('1', '2') FROM t ORDER BY id
SELECT id FROM t WHERE j ->> 'a' IN ('1', '2') ORDER BY id
SELECT id FROM t WHERE id = 1 AND j ->> 'a' = '1'
SELECT json_object('a': 1)
SELECT json_object('a' VALUE 1)
SELECT json_object('a': 1 NULL ON NULL)
SELECT json_object('a': NULL ABSENT ON NULL)
SELECT name COLLATE "C" FROM t ORDER BY name COLLATE "C", id
SELECT grouping(name), name, sum(v) FROM t GROUP BY ROLLUP (name) ORDER BY 2, 1
SELECT name, id, count(*) FROM t GROUP BY GROUPING SETS ((name), (id), ()) ORDER BY 1, 2
SELECT name, count(*) FROM t GROUP BY CUBE (name, id) ORDER BY 1, 2
SELECT name, count(*) FROM t GROUP BY name, ROLLUP (id) ORDER BY 1, 2
SELECT count(*) FROM t LIMIT ALL
SELECT id FROM t ORDER BY id FETCH FIRST 2 ROWS ONLY
SELECT id FROM t ORDER BY id FETCH NEXT ROW ONLY
SELECT id FROM t ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY
SELECT id FROM t ORDER BY id OFFSET 1
SELECT name, sum(v) AS s FROM t GROUP BY 1 ORDER BY s DESC, 1
SELECT string_agg(name, ',') FROM t WHERE id < 3
SELECT string_agg(DISTINCT name, ', ') FROM t WHERE name = 'ada'
SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FROM t
SELECT string_agg(name, ', ' ORDER BY id DESC) FROM t
SELECT array_agg(name ORDER BY id DESC), array_agg(DISTINCT name ORDER BY name) FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM t
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) FROM t
SELECT mode() WITHIN GROUP (ORDER BY name) FROM t
SELECT stddev(v), variance(v), stddev_pop(v) FROM t
SELECT corr(v, id), count(*) * 100.0 / sum(count(*)) OVER () FROM t
SELECT lpad('a', 3, 'x'), rpad('a', 3, 'x'), repeat('a', 3), reverse('abc'), left('abc', 2), right('abc', 2)
SELECT ceil(1.2), ceiling(1.2), floor(1.8), trunc(1.8), sign(-2), exp(0), ln(1), log(100), log(2, 8), pi()
SELECT date_trunc('month', d), date_part('year', d) FROM t ORDER BY id
SELECT id FROM t WHERE v ISNULL
SELECT id FROM t WHERE v NOTNULL ORDER BY id
SELECT id FROM t WHERE name SIMILAR TO '(a|b)%' ORDER BY id
SELECT id FROM t WHERE name ILIKE 'A%' ORDER BY id
SELECT id FROM t WHERE name NOT ILIKE 'A%' ORDER BY id
SELECT name ~ 'a', name ~* 'A', name !~ 'b', name !~* 'B' FROM t ORDER BY id
SELECT name ~~ 'a%', name !~~ 'a%', name ~~* 'A%' FROM t ORDER BY id
SELECT name LIKE ANY (ARRAY['a%', 'b%']) FROM t ORDER BY id
SELECT id BETWEEN SYMMETRIC 3 AND 1 FROM t ORDER BY id
SELECT (d, d) OVERLAPS (DATE '2024-01-01', DATE '2024-02-01') FROM t ORDER BY id
SELECT timestamp '2024-01-01 00:00' AT TIME ZONE 'UTC' AT TIME ZONE 'CET'
SELECT CAST(d AS timestamp), d::timestamp::date, d::text || 'x' FROM t ORDER BY id
SELECT '{1,2}'::int[], ARRAY[1, 2]::text[], ARRAY[[1, 2], [3, 4]]
SELECT (ARRAY[1, 2, 3])[2], (ARRAY[1, 2, 3])[1:2], (ARRAY[1, 2, 3])[2:], (ARRAY[1,2,3])[:2]
SELECT ARRAY[1, 2] || ARRAY[3], ARRAY[1, 2] @> ARRAY[1], ARRAY[1] <@ ARRAY[1, 2], ARRAY[1, 2] && ARRAY[2]
SELECT 1 = ANY (ARRAY[1, 2]), 3 <> ALL (ARRAY[1, 2])
SELECT unnest(ARRAY[1, 2])
SELECT * FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS u(x, n)
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) AS u(x, y)
SELECT * FROM generate_series(1, 3) AS g(n)
SELECT * FROM generate_series(1, 10, 3)
SELECT t.id, x.m FROM t, LATERAL (SELECT max(u.id) AS m FROM t u WHERE u.name = t.name) x ORDER BY 1
SELECT t.id, x.m FROM t LEFT JOIN LATERAL (SELECT u.id AS m FROM t u WHERE u.id > t.id) x ON true ORDER BY 1, 2
SELECT t.id FROM t CROSS JOIN LATERAL (SELECT 1 AS m) x ORDER BY 1
SELECT any_value(name), bool_and(id > 0), bool_or(id > 2), every(id > 0) FROM t
SELECT string_agg(DISTINCT name, ', '), jsonb_object_agg(name, v), array_agg(DISTINCT v) FROM t
SELECT jsonb_object_agg(DISTINCT name, v) FROM t WHERE id = 1
SELECT jsonb_object_agg(name, v ORDER BY id), json_object_agg(name, v) FROM t
SELECT count(DISTINCT (name, v)) FROM t
SELECT j ? 'a', j ?| array['a', 'z'], j ?& array['a', 'b'] FROM t ORDER BY id
SELECT make_interval(days => 3), make_interval(0, 0, 0, 3), make_interval(hours => 1, mins => 2), make_interval(days := 3)
SELECT j->>'0'::text, '[1,2]'::jsonb->0::int, '[1,2]'::jsonb ->> -1 FROM t WHERE id = 1
SELECT '[7,8]'::jsonb->>'0'::int
SELECT (j->>'a')::int + 1, (j->'b'->>0)::int FROM t ORDER BY id
SELECT j->'b'->0, j#>'{b,0}', j#>>'{b,1}', j->'b'->>-1 FROM t ORDER BY id
SELECT j @> '{"a": 1}', '{"a":1}'::jsonb <@ j, j - 'a', j || '{"z":1}', j #- '{b}' FROM t ORDER BY id
SELECT j @? '$.a', j @@ '$.a == 1' FROM t ORDER BY id
SELECT j['a'], j['b'][0] FROM t ORDER BY id
SELECT '1'::int2, '1.5'::float4, '1.23456789'::real, '1.5'::float, '1.5'::double precision, '1'::bigint, 1::numeric(5,2)
SELECT '2024-01-01'::timestamp(0), '10:00'::time, '10:00+02'::timetz, '2024-01-01 00:00+00'::timestamptz
SELECT div(7, 2), mod(7, 3), 7 / 2::numeric, 1 / 3.0, round(2.5), round(2.5::float8), trunc(-1.5)
SELECT extract(epoch FROM interval '1 day'), extract(dow FROM d), extract(isoyear FROM d), extract(century FROM d), extract(year FROM age(d, d)) FROM t
SELECT date_part('dow', d), date_trunc('week', d), date_trunc('quarter', d)::date, d + 7, d - d, now() - now() FROM t
SELECT d + '1 day'::interval, d + interval '1 day' * id, d - make_interval(days => id), age(timestamp '2024-03-01', d) FROM t ORDER BY id
SELECT to_char(d, 'YYYY-MM-DD'), to_char(v, 'FM999.00'), to_date('05062024', 'DDMMYYYY'), to_timestamp(0), to_number('1,5', '9,9') FROM t
SELECT regexp_replace(name, 'a', 'X'), regexp_replace(name, 'A', 'X', 'gi'), regexp_matches(name, '(a)(d)'), regexp_match(name, 'd') FROM t
SELECT split_part('a,b,c', ',', 2), string_to_array('a,b', ','), array_to_string(array[1,2], ','), regexp_split_to_array('a b', ' ')
SELECT substring('foobar' from 'o(.)b'), substring('abc' for 2), substring('abc' for 2 from 2), trim(both 'xy' from 'xax'), btrim('xax', 'x'), trim(leading from ' a')
SELECT position('b' in 'abc'), strpos('abc', 'c'), left('abc', -1), right('abc', 2), initcap('a b'), translate('abc', 'ab', 'x'), ascii('a'), chr(65)
SELECT concat('a', null, 1), concat_ws(',', 'a', null), 'a' || null, format('%s-%I-%L', 'a', 'b', 'c'), quote_literal('a')
SELECT DISTINCT ON (name) name, v FROM t ORDER BY name, v DESC
SELECT count(*) FILTER (WHERE v > 1), sum(v) FILTER (WHERE name = 'ada') FROM t
SELECT percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY v), rank(2) WITHIN GROUP (ORDER BY v) FROM t
SELECT x.n, x.s FROM (VALUES (1, 'a'), (2, 'b')) AS x (n, s)
SELECT * FROM jsonb_each('{"a":1}'), jsonb_each_text('{"b":2}') AS e(k, v)
SELECT * FROM jsonb_array_elements('[1,2]') WITH ORDINALITY
SELECT e.value FROM t, jsonb_array_elements(t.j -> 'b') AS e(value)
SELECT e FROM t CROSS JOIN LATERAL jsonb_array_elements(j -> 'b') e
SELECT (SELECT array_agg(x ORDER BY x) FROM unnest(ARRAY[3, 1]) AS x)
SELECT row_number() OVER (PARTITION BY name ORDER BY v DESC NULLS LAST), lag(v) OVER w, sum(v) OVER (w RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t WINDOW w AS (PARTITION BY name ORDER BY id)
SELECT sum(v) OVER (ORDER BY d RANGE BETWEEN '1 month' PRECEDING AND CURRENT ROW) FROM t ORDER BY id
SELECT sum(v) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1 month' PRECEDING AND CURRENT ROW) FROM t ORDER BY id
SELECT d::timestamptz AT TIME ZONE 'UTC', timezone('UTC', d::timestamp) FROM t ORDER BY id
SELECT CURRENT_DATE - CURRENT_DATE, CURRENT_TIMESTAMP(0) IS NULL, LOCALTIMESTAMP IS NULL, now() IS NULL, CURRENT_TIME(3) IS NULL
SELECT greatest(1, null, 3), least(2, null), num_nulls(1, null), coalesce(null, 1)
SELECT NOT true, true AND NOT false OR false, (1 = 1) IS TRUE, null::boolean IS UNKNOWN, true = NOT false
SELECT name LIKE 'a%' ESCAPE '!', name NOT LIKE 'b%', name ILIKE ANY (ARRAY['A%', 'z']), name ~ ANY (ARRAY['a', 'z']), name LIKE ALL (ARRAY['a%', '%a']) FROM t ORDER BY id
SELECT to_tsvector('english', 'the cats') @@ to_tsquery('english', 'cat'), to_tsvector('a b') @@ plainto_tsquery('a')
SELECT 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, 16 >> 2, 2 + 3 & 1, '101'::bit(3) | '010'
SELECT '{a,b}'::text[] @> ARRAY['a'], ARRAY['a'] && '{a}', array_remove(ARRAY[1,2], 1), '{1,2}'::int[] || 3, 'a' = ANY('{a,b}')
SELECT count(*), count(v), avg(v)::numeric(5,2), round(avg(v), 1), stddev_samp(v) FROM t
SELECT name, sum(v) FROM t GROUP BY GROUPING SETS ((name), ()) ORDER BY 1
SELECT sum(count(*)) OVER (), name FROM t GROUP BY name ORDER BY 2
SELECT TABLE_NAME.id FROM t AS table_name ORDER BY 1
SELECT * FROM t ORDER BY id LIMIT 1 OFFSET 1
SELECT id FROM t OFFSET 1 LIMIT 1
SELECT id FROM t ORDER BY id FETCH FIRST ROW ONLY
SELECT name AS select_, id "from" FROM t ORDER BY 2
SELECT CASE WHEN v > 1 THEN 'a' ELSE 'b' END::text, (CASE id WHEN 1 THEN 2 END)::text FROM t ORDER BY id
SELECT isfinite(d), justify_days(interval '35 days'), d BETWEEN SYMMETRIC '2024-12-31' AND '2024-01-01' FROM t
SELECT md5('a'), encode('a'::bytea, 'hex'), '\x61'::bytea, length('ä'), octet_length('ä'), char_length('ä'), bit_length('a')
SELECT array_agg(v ORDER BY v DESC NULLS LAST) FROM t
SELECT jsonb_build_object('a', 1, 'b', array[1]), json_build_array(1, 'x'), to_jsonb(1), row_to_json(t), to_jsonb(t) FROM t WHERE id = 1
SELECT json_agg(t ORDER BY id), jsonb_agg(name) FROM t
SELECT jsonb_path_query_first(j, '$.b[0]'), jsonb_set(j, '{a}', '9'), jsonb_typeof(j) FROM t WHERE id = 1
SELECT mode() WITHIN GROUP (ORDER BY v), regr_slope(v, id), width_bucket(5, 0, 10, 2) FROM t
SELECT sum(v) FILTER (WHERE v > 1) OVER (ORDER BY id) FROM t ORDER BY id
SELECT '2024-01-01'::date + 1, date '2024-01-01' + time '10:00', '2024-01-01'::date - '2023-01-01'::date
SELECT f.x FROM (SELECT 1 AS x) f, generate_series(1, 2) s ORDER BY s
SELECT * FROM generate_series('2024-01-01'::timestamp, '2024-01-02', '12 hours') g
SELECT n FROM generate_series(1, 5, 2) AS n
SELECT ('2024-01-01'::date, '2024-02-01'::date) OVERLAPS ('2024-01-15'::date, interval '1 day')
SELECT date_bin('15 minutes', timestamp '2024-01-01 10:07', timestamp '2024-01-01')
SELECT b.* FROM t a LEFT JOIN t b ON a.id = b.id + 1 WHERE b IS NOT NULL ORDER BY 1
SELECT id FROM t WHERE name IN ('ada') IS TRUE ORDER BY 1
SELECT string_agg(name, E'\n' ORDER BY id) FROM t
SELECT string_agg(name, chr(10) ORDER BY id) FROM t
