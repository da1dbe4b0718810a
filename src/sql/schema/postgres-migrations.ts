/**
 * Migrations on PostgreSQL. A migration is one transaction under an advisory lock, so that one of several
 * processes migrates and the others find nothing to do, and a failed step leaves nothing behind. If the
 * schema is up to date, it needs no DDL privileges.
 */
import { isMissingObject } from '../postgres-errors.ts'
import { inSchema, type PostgresExecutor, type SqlExecutor } from '../postgres-executor.ts'
import {
	createdTables,
	type Migration,
	type MigrationReport,
	missingVersionError,
	neededVersion,
	type TableSet,
} from './migration.ts'

/** All tables of a schema have the same lock: the first migration creates the schema itself, which two table sets share. */
const LOCK = `select pg_advisory_xact_lock(hashtext('yaoki schema'), hashtext('{s}'))`

const CREATE_SCHEMA = 'create schema if not exists {s};\n'

const createVersions = (
	table: string,
): string => `create table {s}.${table} (version int primary key, name text not null, applied_at timestamptz not null default now());
`

/** Records the version too, for people who run the printed SQL by hand. */
const withVersion = (table: string, { version, name, sql }: Migration): string =>
	`${sql}\ninsert into {s}.${table} (version, name) values (${version}, '${name}');\n`

/** Returns the steps as a person can run them, in order. */
export const postgresMigrations = ({ versions, steps }: TableSet, schema: string): readonly Migration[] =>
	steps.map((step) => {
		const before = step.version === 1 ? CREATE_SCHEMA + createVersions(versions) : ''
		return { ...step, sql: inSchema(`${before}${withVersion(versions, step)}`, schema) }
	})

/**
 * Reads the catalog instead of `to_regnamespace`: a connection caches names that it has not found until it
 * opens a table, so a process that looked before and then waited for another migration would try to create
 * the schema again.
 */
const findTables = (table: string): string => `
select to_regclass('{s}.${table}') is not null as has_tables,
	exists (select from pg_catalog.pg_namespace where nspname = btrim('{s}', '"')) as has_schema`

/** Returns 0 if there are no tables. */
export async function postgresSchemaVersion(executor: SqlExecutor, { versions }: TableSet): Promise<number> {
	const [found] = await executor.runOnce<{ has_tables: boolean }>(findTables(versions))
	if (found?.has_tables !== true) return 0
	const [latest] = await executor.runOnce<{ version: number | null }>(
		`select max(version) as version from {s}.${versions}`,
	)
	return Number(latest?.version ?? 0)
}

export function migratePostgres(executor: PostgresExecutor, tables: TableSet): Promise<MigrationReport> {
	const { versions } = tables
	const needed = neededVersion(tables)
	return executor.transaction(async (transaction) => {
		await transaction.runOnce(LOCK)
		const from = await postgresSchemaVersion(transaction, tables)
		if (from > needed) throw tables.versionError(from, needed)
		const steps = tables.steps.filter(({ version }) => version > from)
		if (from === 0) {
			await rejectExisting(transaction, tables)
			await addVersions(transaction, versions)
		}
		for (const step of steps) await transaction.script(withVersion(versions, step))
		return { from, to: needed, applied: steps.map(({ name }) => name) }
	})
}

/** Without this check, the migration would fail with "relation already exists", which does not say what to do. */
async function rejectExisting(executor: SqlExecutor, tables: TableSet): Promise<void> {
	const names = createdTables(tables).map((name) => `'${name}'`)
	const [found] = await executor.runOnce<{ name: string; place: string }>(
		`select c.relname as name, n.nspname as place from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		where n.nspname = btrim('{s}', '"') and c.relname in (${names.join(', ')}) order by c.relname limit 1`,
	)
	if (found) throw missingVersionError(tables, found.name, `"${found.place}".`)
}

/** Uses an existing schema: creating one needs privileges on the whole database. */
async function addVersions(executor: SqlExecutor, table: string): Promise<void> {
	const [found] = await executor.runOnce<{ has_tables: boolean; has_schema: boolean }>(findTables(table))
	if (found?.has_tables === true) return
	const create = createVersions(table)
	await executor.script(found?.has_schema === true ? create : CREATE_SCHEMA + create)
}

/** Returns the error that explains a missing table or column by tables of another version; undefined if they have the needed one. */
export async function postgresVersionError(
	error: unknown,
	executor: SqlExecutor,
	tables: TableSet,
): Promise<Error | undefined> {
	if (!isMissingObject(error)) return undefined
	const found = await postgresSchemaVersion(executor, tables).catch(() => undefined)
	const needed = neededVersion(tables)
	return found === undefined || found === needed ? undefined : tables.versionError(found, needed)
}
