WITH t AS (SELECT 1 AS id, 'ada' AS name, 1.5 AS v, '2024-01-05' AS d, '{"a": 1, "b": [5, 6], "x.y": "dot"}' AS j UNION ALL SELECT 2, 'bob', NULL, '2024-02-06', '{"a": 2}' UNION ALL SELECT 3, 'ada', 2.5, '2024-03-07', '{"a": 3}')
SELECT CAST('7' AS NUMERIC)/2, CAST('9007199254740993' AS NUMERIC)
SELECT CAST('7' AS DECIMAL(10,2))/2
SELECT CAST(id AS NUMERIC)/2 FROM t ORDER BY id
SELECT group_concat(DISTINCT name) FROM t
SELECT j->>'a', j->'$.a', j->>'$.b[0]', j->'b'->>0, json_extract(j,'$.a') FROM t LIMIT 1
SELECT j->>'x.y' FROM t LIMIT 1
SELECT j->>'x y' FROM t LIMIT 1
SELECT 5/2, 5.0/2, 5%2, 7 & 3, 1<<3, ~1
SELECT name COLLATE NOCASE = 'ADA' FROM t ORDER BY id
SELECT strftime('%Y-%m', d), date(d,'start of month','+1 month'), julianday(d) FROM t ORDER BY id
SELECT round(v,1), cast(v AS INT), typeof(v) FROM t ORDER BY id
SELECT name FROM t ORDER BY v DESC
SELECT name FROM t ORDER BY v
SELECT name FROM t ORDER BY v NULLS LAST
SELECT max(v, 2), min(v, id) FROM t ORDER BY id
SELECT name, max(v), id FROM t GROUP BY name ORDER BY name
SELECT total(v), avg(v), sum(v) FROM t
SELECT name LIKE 'A%', name GLOB 'a*' FROM t ORDER BY id
SELECT iif(v>1,'x','y'), ifnull(v,0), nullif(name,'ada') FROM t ORDER BY id
SELECT substr(name,-2), substr(name,2,1), instr(name,'a'), replace(name,'a','b'), hex(name) FROM t ORDER BY id
SELECT name FROM t WHERE v IS NOT NULL AND v NOT BETWEEN 1 AND 2 ORDER BY id
SELECT row_number() OVER (ORDER BY id), sum(v) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM t ORDER BY id
SELECT name FROM t UNION SELECT 'z' ORDER BY 1
SELECT id FROM t EXCEPT SELECT 1 UNION SELECT 9 ORDER BY 1
SELECT id FROM t UNION SELECT 9 INTERSECT SELECT 9 ORDER BY 1
SELECT count(*) FILTER (WHERE v>1) FROM t
SELECT printf('%.2f', v), format('%05d', id) FROM t ORDER BY id
SELECT CAST(d AS DATE), CAST('2024-05-06' AS DATETIME), CAST(1.9 AS INTEGER), CAST('a1' AS INTEGER) FROM t LIMIT 1
SELECT CAST(v AS TEXT), CAST(name AS BLOB), CAST(v AS VARCHAR(10)) FROM t ORDER BY id
SELECT typeof(CAST(v AS FLOAT)), typeof(CAST('5' AS BOOLEAN)), typeof(CAST('5' AS BIGINT)), typeof(CAST('5' AS CHAR)) FROM t LIMIT 1
SELECT 1 = 1, NOT 0, 1 AND 0, 1 IS TRUE, NULL IS NOT FALSE
SELECT id, -id, +id, - -id FROM t
SELECT 10 - (5 - 3), 2 * (3 + 4), 10 - 5 - 3, (10 / 4) * 4, 10 / (4 * 4)
SELECT 'a' || 'b' || NULL, 'a' || 1
SELECT log(100), log10(100), log(2,8), ln(2.0), log2(8), pow(2,3), sqrt(4), mod(7,3)
SELECT (SELECT max(v) FROM t x WHERE x.name = t.name) FROM t ORDER BY id
SELECT * FROM t WHERE name IN ('ada') AND id NOT IN (SELECT 2)
SELECT trim('xax','x'), ltrim('xa','x'), rtrim('ax','x'), char(65,66), unicode('A'), upper('ä')
SELECT a.name, b.id FROM t a LEFT JOIN t b ON a.id = b.id + 1 ORDER BY a.id
SELECT a.name FROM t a, t b WHERE a.id = b.id ORDER BY a.id
SELECT value FROM json_each('[1,2]')
SELECT key, value, type FROM t, json_each(t.j) ORDER BY t.id, key
SELECT CASE name WHEN 'ada' THEN 1 ELSE 0 END FROM t ORDER BY id
SELECT count(DISTINCT name) FROM t
SELECT name, count(*) c FROM t GROUP BY name HAVING c > 1
SELECT "name" FROM t WHERE "name" = 'ada'
SELECT 'it''s', "name" FROM t LIMIT 1
SELECT x FROM (WITH q(x) AS (VALUES (1),(2)) SELECT x FROM q)
SELECT NULL IS NULL, 1 <> 2, 1 != 2, 1 == 1, 5 IS 5
SELECT name FROM t ORDER BY length(name), 1 LIMIT 1, 2
SELECT cast(strftime('%s','2024-01-01') as integer)
SELECT sum(v) * 1.0 / count(*), 100 * sum(v) / 3 FROM t
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
SELECT id FROM t UNION ALL SELECT id FROM t EXCEPT SELECT 1 ORDER BY 1
SELECT id FROM t UNION SELECT id FROM t UNION ALL SELECT 1 ORDER BY 1
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
SELECT upper(name), lower(name), length(name), round(v, 1), abs(-1), mod(7, 3), power(2, 3), sqrt(4) FROM t ORDER BY id
SELECT CURRENT_DATE = CURRENT_DATE, current_timestamp IS NOT NULL
SELECT 1 <> 2, 1 != 2, NULL IS NULL, 1 IS NOT NULL
SELECT v IS DISTINCT FROM 1.5, v IS NOT DISTINCT FROM NULL FROM t ORDER BY id
SELECT 'a' || 'b' || 'c', 'a' || 1, 'x' || v FROM t ORDER BY id
SELECT 1 | 2, 3 & 1, 1 << 3, 16 >> 2, ~1, 5 | 2 & 3, 1 + 1 << 2
SELECT 7 / 2, 7.0 / 2, 7 / 2.0, 1 / 3 * 3
SELECT 1e3, .5, 1., 1.5e-3, 0.1 + 0.2, 12345678901234567890
SELECT 0x1F
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x
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
SELECT id FROM t ORDER BY id LIMIT 1, 1
SELECT id AS x FROM t ORDER BY x + 0
SELECT name, sum(v) AS s FROM t GROUP BY 1 ORDER BY s DESC, 1
SELECT group_concat(name) FROM t
SELECT group_concat(DISTINCT name) FROM t WHERE name = 'ada'
SELECT ceil(1.2), ceiling(1.2), floor(1.8), trunc(1.8), sign(-2), exp(0), ln(1), log(100), log(2, 8), pi()
SELECT id FROM t WHERE v ISNULL
SELECT id FROM t WHERE v NOTNULL ORDER BY id
SELECT CAST('7' AS NUMERIC)/2, CAST('9007199254740993' AS NUMERIC), CAST('7' AS DECIMAL(10,2))/2, CAST(3 AS NUMERIC(10))/2
SELECT CAST(d AS DATE), CAST('2024-05-06' AS DATETIME), CAST('12:30' AS TIME), CAST('2024' AS TIMESTAMP) FROM t LIMIT 1
SELECT CAST('7' AS STRING), typeof(CAST('7' AS STRING)), CAST('7' AS BOOLEAN), CAST('1.5' AS BOOLEAN)
SELECT CAST(v AS VARCHAR(10)), CAST(name AS NVARCHAR(5)), CAST(name AS CHARACTER(20)), CAST(name AS CLOB) FROM t
SELECT 1 IS 1, NULL IS NULL, v IS 1.5, v IS NOT 1.5, 1 == 1 FROM t
SELECT v NOT NULL FROM t ORDER BY id
SELECT group_concat(DISTINCT name), group_concat(name, '; ') FROM t
SELECT 'abc' LIKE 'ABC', 'abc' GLOB 'a?c', 'a' NOT GLOB 'b', 'a_b' LIKE 'a\_b' ESCAPE '\'
SELECT name COLLATE NOCASE, name COLLATE BINARY FROM t ORDER BY name COLLATE NOCASE DESC, id
SELECT max(1, 2), min(1, 2), max(id), round(2.5), round(-2.5) FROM t
SELECT date('2024-01-31', '+1 month'), strftime('%s', '2024-01-01'), datetime(0, 'unixepoch'), time('12:00')
SELECT cast('12abc' AS int), cast('0x10' AS int), cast(1e20 AS int), cast('1e3' AS numeric), cast('abc' AS numeric)
SELECT -5 / 2, -5 % 2, 5 % -2, 5 / 0, 5.5 % 2
SELECT id FROM t NOT INDEXED
SELECT substring('hello', 2, 3), instr('hello', 'l'), char(72, 105), hex('abc'), quote('a''b')
SELECT json(j), json_extract(j, '$.a', '$.b'), json_type(j, '$.b'), j -> '$.b[1]' FROM t WHERE id = 1
SELECT key, value FROM json_each('{"a":1}')
SELECT value FROM t, json_each(t.j, '$.b')
SELECT e.value FROM t JOIN json_each(t.j, '$.b') AS e
SELECT nth_value(name, 2) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
SELECT id, sum(id) FILTER (WHERE id > 1) OVER (ORDER BY id) FROM t
SELECT id FROM t WHERE (id, name) IN (VALUES (1, 'ada'))
SELECT 1 WHERE 1 IN ()
SELECT [id], `name` FROM [t] ORDER BY 1
SELECT a.id FROM t AS a JOIN t AS b ORDER BY 1 LIMIT 2
SELECT count(*) FROM t LEFT JOIN t b
SELECT 'a' AS x UNION ALL SELECT 'b' LIMIT 1
SELECT 'a' || 1 || 2.0, 1 || 2 + 3, 10 - 2 || 'x', -'5', +'5a', 'abc' + 1
SELECT NOT NOT 1, NOT 0 IS NULL, NOT 1 BETWEEN 0 AND 1, ~ -1, - - 5
SELECT 2 & 3 = 3, 1 < 2 = 1, 1 = 1 = 1, 3 > 2 > 1, 1 IS NULL = 0, 1 == 1 IS 1
SELECT 1 + 2 || 3 * 4, 1 << 2 + 1, 6 & 3 << 1, 1 | 2 = 3, 5 & 6 > 1
SELECT CASE WHEN 1 THEN 'a' END, CASE 1 WHEN 1 THEN 'a' ELSE 'b' END || 'z'
SELECT x FROM (SELECT 1 AS x UNION SELECT 2) ORDER BY x DESC LIMIT 1 OFFSET 1
SELECT name, count(*) FROM t GROUP BY name ORDER BY count(*) DESC, 1
SELECT 1e400, 9223372036854775807, 9223372036854775808, -9223372036854775808
SELECT julianday('2024-01-01') - julianday('2023-01-01'), unixepoch('2024-01-01')
SELECT ifnull(sum(v), 0), avg(id), count(DISTINCT v) FROM t
SELECT TRUE + TRUE, FALSE, 1 IS TRUE, 0 IS NOT TRUE, NULL IS FALSE
SELECT 'x' AS 'y z'
SELECT current_date = date('now'), current_time IS NULL
SELECT printf('%05.1f|%-5s|%,d', 1.5, 'a', 1234567), format('%d%%', 5)
SELECT * FROM (VALUES (1, 2)) x
SELECT column1 FROM (VALUES (1), (2))
SELECT like('a%', 'abc'), glob('a*', 'abc')
