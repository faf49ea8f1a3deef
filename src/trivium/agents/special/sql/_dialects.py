"""The parts that a query may have: nodes, functions and types of each dialect that only compute."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NODES: Final = _words("""
    Select Union Except Intersect Subquery With CTE Values Tuple From Join Where Group Having Order Ordered Limit Offset
    Distinct Table TableAlias Lateral Unnest Star Column Identifier Alias Aliases Paren Window
    WindowSpec Qualify Filter WithinGroup Cube Rollup GroupingSets ColumnDef
    Literal BitString Boolean Null Interval IntervalSpan Var DataType DataTypeParam
    And Or Not Xor EQ NEQ GT GTE LT LTE Is In Between Like ILike Escape SimilarTo Glob Match RegexpLike RegexpILike
    NullSafeEQ NullSafeNEQ Add Sub Mul Div Mod IntDiv Pow Neg BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
    BitwiseLeftShift BitwiseRightShift DPipe Exists Any All Case If AtTimeZone Collate Overlaps
    JSONExtract JSONExtractScalar JSONBExtract JSONBExtractScalar JSONBContains JSONBContainsTopKey
    JSONBContainsAnyTopKeys JSONBContainsAllTopKeys JSONBDeleteAtPath JSONBPathExists
    JSONKeyValue JSONObject JSONObjectAgg JSONArrayAgg
    ArrayContainsAll ArrayContainedBy ArrayOverlaps Array Bracket Slice Struct PropertyEQ Kwarg Lambda
    Anonymous Cast TryCast Extract Trim Substring StrPosition Overlay Chr GroupConcat MatchAgainst
    CurrentDate CurrentTime CurrentTimestamp Localtime Localtimestamp
    """)
"""Names of the nodes of a syntax tree that a query may hold; all others are refused."""

OTHERWISE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Concat": "one text, or concat(…) of several",
        "Dot": "a column as table.column, without brackets, and a function as f(x)",
        "Fetch": "LIMIT with a number",
        "LimitOptions": "LIMIT with a number",
        "RawString": "texts in '…'",
        "UnicodeString": "texts in '…'",
    }
)
"""The form to use instead of a refused node, by node."""

TYPES: Final = _words("""
    CHAR NCHAR VARCHAR NVARCHAR TEXT TINYTEXT MEDIUMTEXT LONGTEXT BINARY VARBINARY BLOB BOOLEAN BIT INT TINYINT SMALLINT
    MEDIUMINT BIGINT INT128 INT256 UINT UTINYINT USMALLINT UMEDIUMINT UBIGINT UINT128 UDECIMAL FLOAT DOUBLE UDOUBLE
    DECIMAL BIGDECIMAL DECFLOAT MONEY DATE DATETIME TIME TIMETZ TIMESTAMP TIMESTAMPTZ TIMESTAMPLTZ TIMESTAMPNTZ
    TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS INTERVAL YEAR JSON JSONB UUID ARRAY LIST STRUCT MAP ENUM HUGEINT INET
    INT4RANGE INT8RANGE NUMRANGE DATERANGE TSRANGE TSTZRANGE CHARACTER_SET
    """)
"""Types that a value may be cast to: types of extensions or users could run code of their own."""

_COMMON: Final = """
    abs acos asin atan atan2 avg ceil ceiling coalesce concat concat_ws cos cot count cume_dist degrees dense_rank exp
    first_value floor grouping lag last_value lead length ln log log10 log2 lower ltrim max min mod nth_value ntile
    nullif octet_length percent_rank pi pow power radians rank replace round row_number rtrim sign sin sqrt sum tan trim
    upper substr substring position left right reverse greatest least char_length character_length ascii lpad rpad
    repeat exists any all cast case if extract stddev stddev_pop stddev_samp variance var_pop var_samp
    json_object json_array json_extract json_array_length json_valid group_concat current_date current_time
    current_timestamp random
"""
_SQLITE: Final = """
    char date datetime format glob hex ifnull iif instr json json_each json_error_position json_group_array
    json_group_object json_insert json_patch json_quote json_remove json_replace json_set json_tree json_type julianday
    like match nullif printf quote strftime string_agg time timediff total trunc typeof unhex unicode unixepoch
    bm25 highlight snippet sinh cosh tanh asinh acosh atanh
"""
_POSTGRES: Final = """
    age any_value array_agg array_append array_cat array_length array_lower array_position array_positions array_prepend
    array_remove array_replace array_to_json array_to_string array_upper arraycontains bit_and bit_or bit_length
    bool_and bool_or btrim cardinality cbrt chr clock_timestamp corr covar_pop covar_samp date date_bin date_part
    date_trunc div
    encode every format gcd generate_series initcap isfinite json_agg json_array_elements json_array_elements_text
    json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text
    json_object_agg json_object_keys json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
    jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_query
    jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof justify_days justify_hours
    justify_interval lcm localtime localtimestamp lower_inc make_date make_interval make_time make_timestamp
    make_timestamptz md5 mode now num_nulls num_nonnulls numnode overlay percentile_cont percentile_disc
    phraseto_tsquery
    plainto_tsquery quote_literal quote_nullable range_agg regexp_count regexp_like regexp_match regexp_matches
    regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope row_to_json scale similarity split_part starts_with statement_timestamp
    string_agg string_to_array string_to_table strpos timeofday timezone to_char to_date to_json to_jsonb to_number
    to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim_array trunc ts_headline ts_rank ts_rank_cd
    unnest upper_inc websearch_to_tsquery width_bucket word_similarity st_distance st_dwithin
"""
_MYSQL: Final = """
    adddate addtime any_value bin bit_and bit_count bit_length bit_or bit_xor char conv convert crc32 curdate curtime
    date date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear elt export_set field
    find_in_set format from_days from_unixtime hex hour ifnull insert instr isnull
    json_array_append json_arrayagg json_contains
    json_contains_path json_depth json_exists json_insert json_keys json_length json_merge_patch json_merge_preserve
    json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace json_search json_set
    json_type json_unquote json_value last_day lcase localtime localtimestamp locate makedate maketime match md5
    median microsecond mid minute month monthname now oct ord percentile_cont percentile_disc period_add period_diff
    quarter quote rand regexp_instr regexp_like regexp_replace regexp_substr sec_to_time second sha1 sha2 soundex space
    std str_to_date strcmp subdate substring_index subtime sysdate time time_format time_to_sec timediff timestamp
    timestampadd timestampdiff to_days to_seconds truncate ucase unhex unix_timestamp utc_date utc_time utc_timestamp
    week weekday weekofyear year yearweek
"""
_DUCKDB: Final = """
    age any_value approx_count_distinct approx_quantile arg_max arg_min array_agg array_to_string arrays_overlap bar
    bit_and bit_count bit_or bit_xor bool_and bool_or chr contains corr count_if countif covar_pop covar_samp
    current_localtimestamp date date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day
    dayname dayofmonth dayofweek dayofyear element_at ends_with entropy epoch epoch_ms even first
    favg fsum gamma generate_series geomean greatest_common_divisor histogram hour ifnull instr isfinite isinf isnan
    isodow isoyear json_array_length json_extract_string json_keys
    json_structure json_type json_value kahan_sum kurtosis last last_day len list list_aggregate
    list_any_value
    list_avg list_concat list_contains list_count list_distinct list_extract list_filter list_has list_has_all
    list_has_any list_max list_min list_position list_reverse list_reverse_sort list_sort list_sum list_transform
    list_unique list_value list_zip list_slice list_reduce mad make_date make_time make_timestamp map_keys map_values
    max_by md5 mean median microsecond millisecond min_by minute mode month monthname now nfc_normalize ord
    parse_filename percentile_cont percentile_disc prefix product quantile quantile_cont quantile_disc quarter range
    regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope row second signum skewness split split_part stem
    starts_with str_split strftime string_agg string_split strip_accents strlen strpos strptime struct_extract
    struct_pack suffix time_bucket to_days to_hours to_minutes to_months to_seconds to_timestamp to_years today
    translate trunc try_strptime typeof unnest unicode week weekday weekofyear width_bucket xor year yearweek
    array_length array_contains list_append list_prepend list_resize cardinality map array_position bit_length cbrt
    ilike_escape like_escape not_like_escape json_each to_json round_even sem stddev sumkahan to_char
"""

FUNCTIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "sqlite": _words(_COMMON + _SQLITE),
        "postgres": _words(_COMMON + _POSTGRES),
        "mysql": _words(_COMMON + _MYSQL) - {"random"},
        "duckdb": _words(_COMMON + _DUCKDB) - {"list_resize"},
    }
)
"""Functions of each dialect that compute from their arguments alone: none reads a file, a setting or a catalog, writes,
waits, locks, or runs text as SQL."""

SIZED: Final[Mapping[str, int]] = MappingProxyType({"lpad": 1, "rpad": 1, "repeat": 1, "space": 0})
"""Functions that make text of a given length, and the position of that argument: it must be a small plain number."""

_WORDS: Final = _words("CAST TRY_CAST CONVERT EXTRACT TRIM SUBSTRING POSITION OVERLAY JSON_OBJECT")
GRAMMARS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "sqlite": _WORDS,
        "postgres": _WORDS | {"JSON_OBJECTAGG", "JSON_ARRAYAGG"},
        "mysql": _WORDS | {"CHAR", "SUBSTR", "GROUP_CONCAT", "MATCH", "JSON_OBJECTAGG", "JSON_ARRAYAGG"},
        "duckdb": _WORDS,
    }
)
"""Functions that may have keywords between their arguments; all others are parsed as a name and a list."""

GROWING: Final = frozenset({"replace", "regexp_replace"})
"""Functions that may make text many times longer than it was."""

SERIES: Final = frozenset({"range", "generate_series"})
"""Functions that return rows one by one in FROM, and one long list elsewhere, which DuckDB does not count as memory."""

FORMATS: Final = frozenset({"format", "printf"})
"""Functions that fill in a format, which must be plain text without wide fields."""

SYSTEM_SCHEMAS: Final = frozenset({"information_schema", "mysql", "performance_schema", "sys", "temp", "system"})
"""Schemas of the server's own tables, beside those that begin with `pg_`."""

SYSTEM_TABLES: Final = ("pg_", "sqlite_", "duckdb_", "pragma_", "dbstat", "innodb_")
"""The beginnings of the names of the server's own tables."""

VALUES_OF_ITS_OWN: Final = _words("""
    current_catalog current_date current_role current_schema current_time current_timestamp current_user localtime
    localtimestamp session_user system_user user
""")
"""Functions that PostgreSQL allows in FROM like a table."""

NO_COLUMNS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "postgres": _words("current_catalog current_role current_schema current_user session_user system_user user"),
        "mysql": _words("current_role current_user"),
    }
)
"""Words that look like columns and return the user's name; a column of such a name must be quoted."""

RESERVED: Final = _words("""
    add analyse analyze array asc call case cast change character check column commit condition constraint convert
    create cross cursor database databases default delete desc describe div drop dual each end escape exit explain
    fetch float for force foreign from full fulltext function general generated get grant group grouping groups
    having ignore index insert int integer interval into join key keys kill lag lateral lead leave left limit linear
    lines load lock long loop match member natural offset old only optimize option order out outer over overlaps
    parallel partition placing precision primary procedure purge range rank read reads real references release
    rename repeat replace require restrict return returning revoke right role row rows schema schemas select
    separator set show signal similar smallint spatial specific sql ssl system table to transaction trigger undo
    union unique unlock unsigned update usage use using values varying verbose virtual when where while window write
""")
"""Words that a server takes for a name in quotes alone; none has a value by itself, as `user` has."""

MISREAD: Final = _words("""
    alter connect_by_root cube current_catalog current_date current_time current_timestamp current_user drop force grant
    if insert install localtime localtimestamp lock partitioned_by regexp revoke rlike rollback rollup session_user
    uncache xor
""")
"""Words that DuckDB reads as names, and sqlglot otherwise."""
