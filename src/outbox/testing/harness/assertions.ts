/** Assertions and small functions of the cases. */
import assert from 'node:assert/strict'

/** The tolerance of `assertNear`, and the unit of steps of the clock. */
export const MINUTE = 60_000
export const HOUR: number = 60 * MINUTE

/** Asserts a time of the database, with a minute of tolerance for slow machines. */
export const assertNear = (actual: number | null | undefined, expected: number, what: string): void => {
	assert.ok(typeof actual === 'number', `${what} is a number, not ${actual}`)
	assert.ok(Math.abs(actual - expected) <= MINUTE, `${what} is about ${expected}, not ${actual}`)
}

/** Asserts the given fields of an object. */
export const assertFields = <T extends object>(actual: T, expected: Partial<T>): void => {
	const names = Object.keys(expected) as (keyof T)[]
	assert.deepEqual(Object.fromEntries(names.map((name) => [name, actual[name]])), expected)
}

export const required = <T>(value: T | null | undefined, what: string): T => {
	assert.ok(value !== undefined && value !== null, `${what} is missing`)
	return value
}

export const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map((row) => row.id)

export const sum = (numbers: Iterable<number>): number => [...numbers].reduce((a, b) => a + b, 0)

export const sorted = (texts: Iterable<string>): string[] => [...texts].sort()
