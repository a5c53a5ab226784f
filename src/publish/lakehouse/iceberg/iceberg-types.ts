/** Types that Iceberg has as well, by their names in the engine. */
const KNOWN =
  /^(?:BOOLEAN|INTEGER|BIGINT|FLOAT|DOUBLE|DATE|TIME|TIMESTAMP(?: WITH TIME ZONE)?|VARCHAR|BLOB|UUID|DECIMAL\(\d+,\d+\))$/;
const WIDER: Readonly<Record<string, string>> = {
  TINYINT: 'INTEGER',
  SMALLINT: 'INTEGER',
  UTINYINT: 'INTEGER',
  USMALLINT: 'INTEGER',
  UINTEGER: 'BIGINT',
  UBIGINT: 'DECIMAL(20,0)',
};

/** The type of Iceberg for one of the work file, but for HUGEINT. Others are held as text, as lists and objects are. */
export function chooseIcebergType(type: string): string {
  return KNOWN.test(type) ? type : (WIDER[type] ?? 'VARCHAR');
}
