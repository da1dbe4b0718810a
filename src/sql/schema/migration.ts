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
