WITH t AS (SELECT 1 AS id, 'ada' AS name, 1.5 AS v, DATE '2024-01-05' AS d, '{"a": 1, "b": [5, 6], "x.y": "dot"}' AS j UNION ALL SELECT 2, 'bob', NULL, '2024-02-06', '{"a": 2}' UNION ALL SELECT 3, 'ada', 2.5, '2024-03-07', '{"a": 3}')
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
SELECT id, sum(v) OVER w, avg(v) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (ORDER BY id) ORDER BY id
SELECT id, first_value(name) OVER (ORDER BY id), nth_value(name, 2) OVER (ORDER BY id) FROM t ORDER BY id
SELECT name FROM t GROUP BY name HAVING count(*) > 1 ORDER BY 1
SELECT name, v FROM t ORDER BY v, id
SELECT name, v FROM t ORDER BY v DESC, id
SELECT name, v FROM t ORDER BY v IS NULL, v
SELECT a.id, b.id FROM t a INNER JOIN t b ON a.name = b.name ORDER BY 1, 2
SELECT a.id, b.id FROM t a LEFT OUTER JOIN t b ON a.id = b.id + 1 ORDER BY 1, 2
SELECT a.id, b.id FROM t a RIGHT JOIN t b ON a.id = b.id + 1 ORDER BY 2, 1
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
SELECT substring(name, 2), substring(name, 2, 1), substr(name, 1, 2) FROM t ORDER BY id
SELECT substring(name FROM 2), substring(name FROM 2 FOR 1) FROM t ORDER BY id
SELECT trim(' a '), trim(both 'x' from 'xax'), trim(leading 'x' from 'xax'), trim(trailing 'x' from 'xax'), trim('x' from 'xax')
SELECT trim(both from ' a ')
SELECT position('d' IN name) FROM t ORDER BY id
SELECT upper(name), lower(name), length(name), round(v, 1), abs(-1), mod(7, 3), power(2, 3), sqrt(4) FROM t ORDER BY id
SELECT extract(year FROM d), extract(month FROM d), extract(day FROM d) FROM t ORDER BY id
SELECT extract(week FROM d), extract(quarter FROM d) FROM t ORDER BY id
SELECT CURRENT_DATE = CURRENT_DATE, current_timestamp IS NOT NULL
SELECT d + INTERVAL '1' DAY, d - INTERVAL '2' MONTH FROM t ORDER BY id
SELECT d + INTERVAL 1 DAY FROM t ORDER BY id
SELECT d + INTERVAL '1:2' MINUTE_SECOND FROM t ORDER BY id
SELECT DATE '2024-01-05', TIMESTAMP '2024-01-05 10:00:00', TIME '10:00:00'
SELECT 1 <> 2, 1 != 2, NULL IS NULL, 1 IS NOT NULL
SELECT TRUE, FALSE, NOT TRUE, v > 1 IS TRUE, (v > 1) IS NOT TRUE, (v > 1) IS UNKNOWN FROM t ORDER BY id
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
SELECT json_object('a', 1), json_array(1, 2)
SELECT id FROM t ORDER BY id FETCH FIRST 2 ROWS ONLY
SELECT id FROM t ORDER BY id FETCH NEXT ROW ONLY
SELECT id FROM t ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY
SELECT id FROM t ORDER BY id LIMIT 1, 1
SELECT id AS x FROM t ORDER BY x + 0
SELECT name, sum(v) AS s FROM t GROUP BY 1 ORDER BY s DESC, 1
SELECT group_concat(name) FROM t
SELECT group_concat(DISTINCT name) FROM t WHERE name = 'ada'
SELECT stddev(v), variance(v), stddev_pop(v) FROM t
SELECT lpad('a', 3, 'x'), rpad('a', 3, 'x'), repeat('a', 3), reverse('abc'), left('abc', 2), right('abc', 2)
SELECT isnull(v) FROM t ORDER BY id
SELECT isnull(v), ifnull(v, 0), if(v > 1, 'a', 'b'), nullif(id, 1) FROM t ORDER BY id
SELECT concat('a', 'b'), concat('a', NULL), concat_ws(',', 'a', NULL)
SELECT count(DISTINCT name, v) FROM t
SELECT date_format(d, '%Y-%m'), date_add(d, INTERVAL 1 MONTH), date_sub(d, INTERVAL 1 DAY), d + INTERVAL 1 DAY, adddate(d, 3), d - INTERVAL id DAY FROM t ORDER BY id
SELECT date_add(d, INTERVAL '1:30' HOUR_MINUTE), d + INTERVAL '1-2' YEAR_MONTH, INTERVAL 1 DAY + d FROM t ORDER BY id
SELECT datediff(d, '2024-01-01'), timestampdiff(MONTH, '2024-01-01', d), timestampadd(DAY, 1, d), last_day(d), dayname(d), week(d, 1) FROM t ORDER BY id
SELECT str_to_date('05,06,2024', '%d,%m,%Y'), unix_timestamp('2024-01-01'), from_unixtime(0), makedate(2024, 5), sec_to_time(90)
SELECT extract(YEAR_MONTH FROM d), extract(DAY_HOUR FROM '2024-01-01 10:00:00'), year(d), month(d), quarter(d) FROM t ORDER BY id
SELECT cast('7' AS SIGNED), cast('7' AS UNSIGNED), cast('1.5' AS DECIMAL(10,1)), cast(d AS CHAR), cast('2024-01-01' AS DATETIME), cast('1.5' AS DOUBLE), convert('7', SIGNED), cast('a' AS BINARY), cast(1.9 AS SIGNED), cast(-1 AS UNSIGNED) FROM t LIMIT 1
SELECT 7 / 2, 7 DIV 2, 7 % 2, 7 MOD 2, mod(7, 2), -7 DIV 2, 1 XOR 0, 1 && 0, 1 || 0, !1, NOT 0, 2 ^ 3, ~0 & 255
SELECT 1 <=> NULL, NULL <=> NULL, v <=> 1.5, 1 <> 2, 1 != 2 FROM t
SELECT name REGEXP 'a$', name RLIKE '^b', name NOT REGEXP 'x', name LIKE 'A%', name LIKE BINARY 'A%', BINARY name = 'ADA' FROM t ORDER BY id
SELECT json_extract(j, '$.a'), json_unquote(json_extract(j, '$.b[0]')), json_value(j, '$.a'), json_contains(j, '1', '$.a'), json_keys(j), json_length(j, '$.b') FROM t ORDER BY id
SELECT json_arrayagg(name), json_objectagg(id, name) FROM t
SELECT json_arrayagg(DISTINCT name ORDER BY name LIMIT 1) FROM t
SELECT json_object('a', 1, 'b', 2), json_array(1, 'x')
SELECT name, sum(v) FROM t GROUP BY name WITH ROLLUP
SELECT name, v FROM t ORDER BY -v DESC, id
SELECT name, v FROM t ORDER BY isnull(v), v, id
SELECT `name` FROM `t` WHERE "ada" = name ORDER BY id LIMIT 1, 1
SELECT substring(name, 2, 1), substring(name FROM 2), substring_index('a.b.c', '.', -1), mid(name, 2, 1), left(name, 1), locate('d', name), position('d' IN name), instr(name, 'd'), field('b', 'a', 'b'), find_in_set('b', 'a,b'), elt(1, 'x'), insert('abc', 1, 1, 'z') FROM t ORDER BY id
SELECT trim(BOTH 'x' FROM 'xax'), trim('x' FROM 'xax'), ltrim(' a'), lpad('a', 3, 'x'), repeat('a', 2), reverse('ab'), space(2), char(65), char(65 USING utf8mb4), ascii('A'), ord('A'), hex('a'), unhex('61'), strcmp('a', 'b'), format(1234.5, 1)
SELECT CASE WHEN v > 1 THEN 'x' ELSE 'y' END, CASE name WHEN 'ada' THEN 1 END, IF(v IS NULL, 0, v) FROM t ORDER BY id
SELECT a.id FROM t a STRAIGHT_JOIN t b ON a.id = b.id ORDER BY 1
SELECT a.id, b.id FROM t a LEFT JOIN t b USING (id) ORDER BY 1
SELECT a.id, b.id FROM t a RIGHT JOIN t b ON a.id = b.id + 1 ORDER BY 2
SELECT DISTINCTROW name FROM t ORDER BY 1
SELECT TRUE, FALSE, TRUE + 1, NULL IS NULL, v IS NOT NULL, v IS TRUE, v IS NOT FALSE, 1 IS UNKNOWN FROM t ORDER BY id
SELECT curdate() = current_date, current_date() = curdate(), now() IS NULL, current_timestamp(3) IS NULL, localtime IS NULL, utc_date() IS NULL
SELECT 'a' = 'A', 'a' = 'a ', name COLLATE utf8mb4_bin = 'ADA', 'a' COLLATE utf8mb4_bin = 'A' FROM t
SELECT '5' + 1, 'a' + 1, 5 + '5x', '2024-01-01' + INTERVAL 1 DAY
SELECT 1 = 1 = 1, 2 > 1 > 0, NOT 1 = 0, NOT 1 + 1, !1 + 1, -2 ^ 2, 2 + 3 & 1, 1 | 2 = 3, 5 BETWEEN 1 AND 10 = 1, - 3 DIV 2
SELECT 1 OR 0 AND 0, 1 || 0 && 0, 1 XOR 1 OR 1
SELECT id, row_number() OVER (ORDER BY id), sum(v) OVER (PARTITION BY name ORDER BY id) FROM t
SELECT 1 DIV 2 * 3, 10 - 2 - 3, 2 * 7 % 4, 7 % 4 * 2, 100 / 10 / 2
SELECT time_format('10:05:03', '%H:%i'), addtime('10:00', '1:00'), timediff('10:00', '9:00'), time_to_sec('1:00:00'), hour('10:05'), dayofweek(d), weekday(d), to_days(d) FROM t
SELECT id FROM t LIMIT 2 OFFSET 1
SELECT n.id FROM t n GROUP BY n.id, n.name HAVING n.id > 1 ORDER BY NULL
SELECT name, v FROM t ORDER BY field(name, 'bob', 'ada'), id
SELECT * FROM (VALUES (1), (2)) v
SELECT median(v) OVER (PARTITION BY name) FROM t ORDER BY id
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) OVER (PARTITION BY name) FROM t ORDER BY id
SELECT regexp_replace('abc', 'b', 'x'), regexp_substr('abc', 'b.'), regexp_instr('abc', 'c')
SELECT 'x' LIKE 'X' ESCAPE '|', 'a%' LIKE 'a\%', 'a\\b', 'a\_b' LIKE 'a\_b'
SELECT 1 AS 'a b', 1 `c`, 1 AS "d"
