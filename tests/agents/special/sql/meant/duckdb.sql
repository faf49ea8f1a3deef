WITH t AS (SELECT 1 AS id, 'ada' AS name, 1.5 AS v, DATE '2024-01-05' AS d, '{"a": 1, "b": [5, 6], "x.y": "dot"}'::JSON AS j UNION ALL SELECT 2, 'bob', NULL, '2024-02-06', '{"a": 2}' UNION ALL SELECT 3, 'ada', 2.5, '2024-03-07', '{"a": 3}')
SELECT string_agg(name, ', ' ORDER BY name DESC) FROM t
SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FROM t
SELECT arg_max(name, v) FROM t
SELECT count(DISTINCT name), count(DISTINCT (name, v)) FROM t
SELECT 5/2, 5//2, 5%2, 2^3, 2**3
SELECT CAST('7' AS NUMERIC)/2, CAST('7.25' AS DECIMAL(5,2)), '7'::INT/2
SELECT round(v,1), floor(v), v::INT FROM t ORDER BY id
SELECT name FROM t ORDER BY v DESC NULLS LAST
SELECT name FROM t ORDER BY v DESC
SELECT name FROM t ORDER BY v NULLS FIRST
SELECT quantile_cont(v, 0.5), median(v), mode(name) FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM t
SELECT name, v FROM t WHERE name ILIKE 'A%' OR name SIMILAR TO 'b.*'
SELECT regexp_extract(name,'([a-z]+)(\d*)',1), regexp_replace(name,'a','b','g') FROM t ORDER BY id
SELECT name ~ 'a.*' FROM t ORDER BY id
SELECT list(name ORDER BY id)[1], list(name ORDER BY id)[-1], list(name ORDER BY id)[1:2] FROM t
SELECT name[1], name[1:2], substr(name,2,1) FROM t ORDER BY id
SELECT split_part(name,'a',1), string_split(name,'a')[1] FROM t ORDER BY id
SELECT v, sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id
SELECT name, count(*) FILTER (WHERE v>1) FROM t GROUP BY ALL ORDER BY ALL
SELECT name, v FROM t QUALIFY row_number() OVER (PARTITION BY name ORDER BY v DESC) = 1 ORDER BY name
SELECT coalesce(v,0), ifnull(v,0), nullif(name,'ada') FROM t ORDER BY id
SELECT CASE WHEN v>1 THEN 'x' ELSE 'y' END FROM t ORDER BY id
SELECT TRY_CAST(name AS INT) FROM t
SELECT 'a' || NULL, concat('a',NULL), concat_ws('-','a',NULL,'b')
SELECT 1_000, 1e3, .5
SELECT strptime('05/06/2024','%d/%m/%Y'), make_date(2024,1,2)
SELECT TIMESTAMP '2024-01-01 10:00:00', DATE '2024-01-01', TIME '10:00'
SELECT epoch(TIMESTAMP '2024-01-01 10:00:00'), to_timestamp(0)
SELECT log(100), ln(2.0), log2(8), log(2,8)
SELECT greatest(1,2,NULL), least(1,2)
SELECT j->>'$.a', j->'$.a', json_extract_string(j,'$.b[0]'), j->>'a' FROM t ORDER BY id LIMIT 1
SELECT name FROM t WHERE v IN (SELECT max(v) FROM t)
SELECT name FROM t WHERE (name, v) IN (SELECT name, max(v) FROM t GROUP BY name) ORDER BY 1
SELECT a.name, b.name FROM t a LEFT JOIN t b ON a.id=b.id+1 ORDER BY a.id
SELECT name, v FROM t LIMIT 2 OFFSET 1
SELECT histogram(name) FROM t
SELECT stddev(v), var_samp(v), corr(v,id) FROM t
SELECT bool_and(v>0), any_value(name), first(name) FROM t
SELECT -v, abs(v), sign(v), v*1.5 FROM t ORDER BY id
SELECT id & 1, id | 4, xor(id,1), ~id, id << 1 FROM t ORDER BY id
SELECT NOT v > 1, v IS NULL, v IS NOT DISTINCT FROM NULL FROM t ORDER BY id
SELECT "name" AS "Name X" FROM t ORDER BY id
SELECT rank() OVER (ORDER BY v DESC), ntile(2) OVER (ORDER BY id), lag(name) OVER (ORDER BY id) FROM t ORDER BY id
SELECT name FROM t WHERE d BETWEEN '2024-01-01' AND '2024-02-01' ORDER BY 1
SELECT name FROM t WHERE name NOT LIKE 'a%' AND name NOT IN ('x') ORDER BY 1
SELECT unnest([1,2,3])
SELECT x FROM (SELECT unnest([1,2,3]) AS x)
SELECT trim('  a '), lpad('a',3,'x'), reverse('ab'), length('äb'), strlen('äb'), upper('ä')
SELECT CURRENT_DATE = today()
SELECT grouping(name), name, sum(v) FROM t GROUP BY ROLLUP(name) ORDER BY 2
SELECT sum(v) FROM t HAVING sum(v) > 1
SELECT DISTINCT ON (name) name, v FROM t ORDER BY name, v
SELECT age(DATE '2024-03-01', DATE '2024-01-01')
SELECT EXISTS (SELECT 1 FROM t WHERE v>100)
SELECT cast(d AS VARCHAR), d::text FROM t ORDER BY id
SELECT round(5.5), round(-2.5), round_even(2.5,0), trunc(2.7), ceil(2.1)
SELECT COUNT(*) AS n, SUM(CASE WHEN name='ada' THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS pct FROM t
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
SELECT name AS "a b", name AS 'c' FROM t ORDER BY id
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
SELECT CURRENT_DATE = CURRENT_DATE, current_timestamp IS NOT NULL
SELECT DATE '2024-01-05', TIMESTAMP '2024-01-05 10:00:00', TIME '10:00:00'
SELECT 1 <> 2, 1 != 2, NULL IS NULL, 1 IS NOT NULL
SELECT TRUE, FALSE, NOT TRUE, v > 1 IS TRUE, (v > 1) IS NOT TRUE, (v > 1) IS UNKNOWN FROM t ORDER BY id
SELECT v IS DISTINCT FROM 1.5, v IS NOT DISTINCT FROM NULL FROM t ORDER BY id
SELECT 'a' || 'b' || 'c', 'a' || 1, 'x' || v FROM t ORDER BY id
SELECT 1 | 2, 3 & 1, 1 << 3, 16 >> 2, ~1, 5 | 2 & 3, 1 + 1 << 2
SELECT 2 ^ 3 ^ 2, -2 ^ 2
SELECT 7 / 2, 7.0 / 2, 7 / 2.0, 1 / 3 * 3
SELECT 1e3, .5, 1., 1.5e-3, 0.1 + 0.2, 12345678901234567890
SELECT 1_000
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
SELECT json_object('a', 1), json_array(1, 2)
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
SELECT id AS x FROM t ORDER BY x + 0
SELECT name, sum(v) AS s FROM t GROUP BY 1 ORDER BY s DESC, 1
SELECT string_agg(name, ',') FROM t WHERE id < 3
SELECT string_agg(DISTINCT name, ', ') FROM t WHERE name = 'ada'
SELECT string_agg(name, ', ' ORDER BY id DESC) FROM t
SELECT group_concat(name) FROM t
SELECT group_concat(DISTINCT name) FROM t WHERE name = 'ada'
SELECT array_agg(name ORDER BY id DESC), array_agg(DISTINCT name ORDER BY name) FROM t
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) FROM t
SELECT mode() WITHIN GROUP (ORDER BY name) FROM t
SELECT stddev(v), variance(v), stddev_pop(v) FROM t
SELECT corr(v, id), count(*) * 100.0 / sum(count(*)) OVER () FROM t
SELECT lpad('a', 3, 'x'), rpad('a', 3, 'x'), repeat('a', 3), reverse('abc'), left('abc', 2), right('abc', 2)
SELECT ceil(1.2), ceiling(1.2), floor(1.8), trunc(1.8), sign(-2), exp(0), ln(1), log(100), log(2, 8), pi()
SELECT id FROM t WHERE v ISNULL
SELECT id FROM t WHERE v NOTNULL ORDER BY id
SELECT id FROM t WHERE name SIMILAR TO '(a|b)%' ORDER BY id
SELECT id FROM t WHERE name ILIKE 'A%' ORDER BY id
SELECT id FROM t WHERE name NOT ILIKE 'A%' ORDER BY id
SELECT name ~ 'a', name ~* 'A', name !~ 'b', name !~* 'B' FROM t ORDER BY id
SELECT name ~~ 'a%', name !~~ 'a%', name ~~* 'A%' FROM t ORDER BY id
SELECT timestamp '2024-01-01 00:00' AT TIME ZONE 'UTC' AT TIME ZONE 'CET'
SELECT CAST(d AS timestamp), d::timestamp::date, d::text || 'x' FROM t ORDER BY id
SELECT (ARRAY[1, 2, 3])[2], (ARRAY[1, 2, 3])[1:2], (ARRAY[1, 2, 3])[2:], (ARRAY[1,2,3])[:2]
SELECT ARRAY[1, 2] || ARRAY[3], ARRAY[1, 2] @> ARRAY[1], ARRAY[1] <@ ARRAY[1, 2], ARRAY[1, 2] && ARRAY[2]
SELECT 1 = ANY (ARRAY[1, 2]), 3 <> ALL (ARRAY[1, 2])
SELECT unnest(ARRAY[1, 2])
SELECT * FROM unnest(ARRAY[1, 2]) WITH ORDINALITY AS u(x, n)
SELECT * FROM generate_series(1, 3) AS g(n)
SELECT * FROM generate_series(1, 10, 3)
SELECT t.id, x.m FROM t, LATERAL (SELECT max(u.id) AS m FROM t u WHERE u.name = t.name) x ORDER BY 1
SELECT t.id, x.m FROM t LEFT JOIN LATERAL (SELECT u.id AS m FROM t u WHERE u.id > t.id) x ON true ORDER BY 1, 2
SELECT t.id FROM t CROSS JOIN LATERAL (SELECT 1 AS m) x ORDER BY 1
SELECT list(name ORDER BY id)[1], list(name ORDER BY id)[1:2] FROM t
SELECT list(id) FROM t
SELECT name ~ 'a', name ~ 'ad', name !~ 'a' FROM t ORDER BY id
SELECT regexp_matches(name, 'a'), regexp_full_match(name, 'a') FROM t ORDER BY id
SELECT 5 // 2, -5 // 2, 5 % -3, 2 ** 3 ** 2, -2 ** 2, 2 * 3 ^ 2, 7 // 2 * 2
SELECT xor(5, 3), 5 & 3, ~5
SELECT name[1], name[2:], name[-1] FROM t ORDER BY id
SELECT 'abc'[1:2], [1, 2, 3][1], [1, 2, 3][-1], [1,2,3][1:3:2]
SELECT first(name ORDER BY id), last(name ORDER BY id), arg_max(name, v) FROM t
SELECT sum(v) FILTER (WHERE v > 1), count(*) FILTER (v > 1) FROM t
SELECT count() FROM t
SELECT * REPLACE (upper(name) AS name) FROM t ORDER BY id
SELECT * EXCLUDE (j, d) FROM t ORDER BY id
SELECT * EXCLUDE id FROM t ORDER BY d
SELECT t.* EXCLUDE (id) FROM t ORDER BY d
SELECT name, v FROM t ORDER BY ALL DESC
SELECT name, sum(v) FROM t GROUP BY ALL ORDER BY ALL
SELECT try_cast('x' AS int), try_cast('5' AS double)
SELECT interval 1 year, interval '1 day', interval (2) hour, to_days(3), INTERVAL '1' YEAR
SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' AT TIME ZONE 'UTC'
SELECT x FROM range(3) AS r(x)
SELECT * FROM range(1, 4)
SELECT unnest([1, 2]), unnest({'a': 1, 'b': 2})
SELECT u FROM t, unnest([id, id * 2]) AS x(u) ORDER BY 1
SELECT a.id, b.id FROM t a ASOF JOIN t b ON a.id >= b.id ORDER BY 1
SELECT a.id FROM t a SEMI JOIN t b ON a.id = b.id + 1 ORDER BY 1
SELECT a.id FROM t a ANTI JOIN t b ON a.id = b.id + 1 ORDER BY 1
SELECT a.id, b.id FROM t a POSITIONAL JOIN t b ORDER BY 1
SELECT id FROM t WHERE name IN ['ada', 'x'] ORDER BY id
SELECT id FROM t WHERE 'ada' IN (name) ORDER BY id
SELECT quantile_cont(v, [0.25, 0.5]) FROM t
SELECT 'a' LIKE 'A', 'a' ILIKE 'A', 'abc' GLOB 'a*', 'a' NOT GLOB 'b'
SELECT json_extract(j, '$.a'), j->'$.b'->0, j.a, j['a'] FROM t ORDER BY id
SELECT CASE WHEN v > 1 THEN 'x' END IS NULL FROM t ORDER BY id
SELECT greatest(1, NULL, 3), least(2, NULL)
SELECT sum(id)::VARCHAR || 'x', 1::DECIMAL(5,2), 1::HUGEINT, '1'::UBIGINT FROM t
SELECT name: id FROM t ORDER BY id
SELECT from_t.id FROM t AS from_t ORDER BY 1
SELECT id, name FROM t UNION BY NAME SELECT 'z' AS name, 9 AS id ORDER BY 1
SELECT round(2.5), round(v, 0), even(2.1), 7 % 2.5, 10 / 4, 10 // 4 FROM t ORDER BY id
SELECT trim('xax', 'x'), ltrim('xa', 'x'), replace('aa', 'a', 'b'), translate('abc', 'a', 'x')
SELECT DATE '2024-01-01' + TIME '10:00', '2024-01-01'::TIMESTAMP, make_date(2024, 1, 2)
SELECT list_sort([3, 1, 2]), list_sort([3, 1], 'DESC'), list_distinct([1, 1]), list_contains([1], 1), [1] || [2], len([1, 2])
SELECT [1, 2] && [2], [1, 2] @> [1], [1] <@ [1, 2]
SELECT name, row_number() OVER () FROM t QUALIFY row_number() OVER (ORDER BY id) < 3
SELECT median(v), mad(v), mode(name), approx_count_distinct(name), product(id) FROM t
SELECT bit_and(id), bit_or(id), bit_xor(id) FROM t
SELECT sum(v ORDER BY id) FROM t
SELECT count(DISTINCT name) FILTER (WHERE id > 1) FROM t
SELECT max(name, 2), min(v, 1), arg_max(name, v, 2) FROM t
SELECT 'ä' COLLATE NOCASE = 'Ä', name COLLATE NOACCENT FROM t
SELECT position('a' IN 'ba'), strpos('ba', 'a'), instr('ba', 'a')
SELECT overlay('abcdef' PLACING 'xx' FROM 2 FOR 3)
SELECT 1 AS "select", "id" FROM t ORDER BY id
SELECT TIMESTAMP '2024-01-01 10:00' - INTERVAL 90 MINUTE
SELECT count_if(v > 1), sum(CAST(v > 1 AS INT)), countif(v > 2) FROM t
SELECT if(v > 1, 'a', 'b') FROM t ORDER BY id
SELECT chr(65), ascii('A'), ord('A'), unicode('A'), length('äb'), bit_length('a')
SELECT cast(1.5 AS INT), cast(2.5 AS INT), '1.5'::FLOAT, cast('0.1' AS REAL), 0.1::FLOAT4
SELECT x -> '$.a' FROM (SELECT j AS x FROM t) ORDER BY 1
SELECT id FROM t WHERE j->>'a' = '1' AND id = 1
SELECT id FROM t WHERE j->>'$.a' > '1' ORDER BY id
SELECT (j->>'a')::INT + 1 FROM t ORDER BY id
SELECT j->>'a'::VARCHAR FROM t ORDER BY id
