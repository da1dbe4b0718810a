import { YaokiError } from '../../core/errors/errors.ts'

/** One numbered step of the schema. For authors of stores: `OutboxStore.migrations` is a list of them. A released step never changes. */
export interface Migration {
	readonly version: number
	readonly name: string
	readonly sql: string
}

/** Which steps of the schema were applied. `outbox.migrate()` returns it. For authors of stores: `OutboxStore.migrate` returns it. */
export interface MigrationReport {
	readonly from: number
	readonly to: number
	/** Names of the steps that were applied; empty if the schema was up to date. */
	readonly applied: readonly string[]
}

/** The tables of one feature, in one version after the other. */
export interface TableSet {
	/** The table that records the applied versions. */
	readonly versions: string
	/** A released step never changes; a change adds a step. */
	readonly steps: readonly Migration[]
	/** Returns the error for tables of another version than these steps create. `found` is 0 without tables. */
	versionError(found: number, needed: number): Error
}

export const neededVersion = ({ steps }: TableSet): number => steps.length

const CREATED_TABLE = /^create table (?:\{s\}\.)?(\w+)/gim

/** Returns the names of the tables that the first step creates. */
export const createdTables = ({ steps }: TableSet): readonly string[] =>
	[...(steps[0]?.sql ?? '').matchAll(CREATED_TABLE)].map(([, name = '']) => name)

/** The error of a migration that finds a table and no version: its row was deleted, a backup lacks it, or the table belongs to something else. */
export function missingVersionError({ versions, steps }: TableSet, table: string, place: string): YaokiError {
	const { version, name } = steps.at(-1) ?? { version: 0, name: '' }
	const columns = place === '' ? ['version, name, applied_at', ', 0'] : ['version, name', '']
	const insert = `insert into ${place}${versions} (${columns[0]}) values (${version}, '${name}'${columns[1]})`
	return new YaokiError(
		'YAOKI_MISSING_VERSION',
		`Table ${place}${table} exists, but ${place}${versions} contains no version. If this release created the table, add its version: ${insert}. Otherwise rename the table${place === '' ? ' or use another file' : ' or use another schema'}.`,
	)
}

/** What is wrong with tables of another version: `subject` is "The outbox", `migrate` a sentence that says how to migrate. */
export function versionText(
	subject: string,
	tables: string,
	found: number,
	needed: number,
	migrate: string,
): string {
	if (found === 0) return `${subject} has no tables. ${migrate}`
	const versions = `${tables} have version ${found}, this release needs version ${needed}.`
	return `${versions} ${found < needed ? migrate : 'Install the newer release that created them.'}`
}
