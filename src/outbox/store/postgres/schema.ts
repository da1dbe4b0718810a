/**
 * Bringing the tables up to date: one transaction under a lock of the transaction's own, so that of several processes that start
 * together one does it and the others find it done, and a step that fails leaves nothing behind. With nothing to do it needs no rights
 * to change anything.
 */
import { SchemaVersionError } from '../errors.ts'
import type { Migration, MigrationReport } from '../store.ts'
import { type Database, inSchema, type Session } from './connection.ts'
import { STEPS } from './tables.ts'

/** What this release works with. */
export const NEEDED_VERSION: number = STEPS.length

export const migrationsIn = (schema: string): readonly Migration[] =>
	STEPS.map((step) => ({
		...step,
		sql: inSchema(`${step.version === 1 ? FOUNDATION : ''}${withRecord(step)}`, schema),
	}))

/** Whoever runs the printed SQL by hand has the version written down as well. */
const withRecord = ({ version, name, sql }: Migration): string =>
	`${sql}\ninsert into {s}.outbox_schema (version, name) values (${version}, '${name}');\n`

const FOUNDATION = `create schema if not exists {s};
create table {s}.outbox_schema (version int primary key, name text not null, applied_at timestamptz not null default now());
`

/**
 * From the catalogue itself, and not by `to_regnamespace`: a connection remembers names that it has not found, and forgets that when it opens a
 * table. Whoever had looked before and then waited for somebody else's migration would try to make the schema again.
 */
const IS_THERE = `
select to_regclass('{s}.outbox_schema') is not null as there,
	exists (select from pg_catalog.pg_namespace where nspname = btrim('{s}', '"')) as home`

/** 0 when there are no tables. */
export async function findVersion(session: Session): Promise<number> {
	const [found] = await session.ask<{ there: boolean }>(IS_THERE)
	if (found?.there !== true) return 0
	const [latest] = await session.ask<{ version: number | null }>(
		'select max(version) as version from {s}.outbox_schema',
	)
	return Number(latest?.version ?? 0)
}

export function migrate(database: Database): Promise<MigrationReport> {
	return database.transaction(async (session) => {
		await session.ask("select pg_advisory_xact_lock(hashtext('yaoki outbox'), hashtext('{s}'))")
		const from = await findVersion(session)
		if (from > NEEDED_VERSION) throw new SchemaVersionError(from, NEEDED_VERSION)
		const steps = STEPS.filter(({ version }) => version > from)
		if (from === 0) await layFoundation(session)
		for (const step of steps) await session.script(withRecord(step))
		return { from, to: NEEDED_VERSION, applied: steps.map(({ name }) => name) }
	})
}

/** A schema that somebody made for us is used: making one takes rights on the whole database. */
async function layFoundation(session: Session): Promise<void> {
	const [found] = await session.ask<{ there: boolean; home: boolean }>(IS_THERE)
	if (found?.there === true) return
	await session.script(found?.home === true ? FOUNDATION.replace(/^.*\n/, '') : FOUNDATION)
}
