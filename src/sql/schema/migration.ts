/** One numbered step of the schema. A released step never changes. */
export interface Migration {
	readonly version: number
	readonly name: string
	readonly sql: string
}

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
