/** Assertions of the cases. Not `node:assert`, because the suite also runs without Node. */

/** Asserts that a condition holds. */
export function assertThat(condition: unknown, message: string): asserts condition {
	if (!condition) throw new Error(message)
}

/** Asserts that two values have the same content. */
export function assertEqual(actual: unknown, expected: unknown, what: string): void {
	assertThat(isEqual(actual, expected), `${what}: expected ${shown(expected)}, got ${shown(actual)}`)
}

/** Asserts that a time or a duration is about as expected: the clock of a database runs on during a case. */
export function assertNear(actual: number | null | undefined, expected: number, what: string): void {
	const isNear = typeof actual === 'number' && Math.abs(actual - expected) <= TOLERANCE_MS
	assertThat(isNear, `${what}: expected about ${expected}, got ${actual}`)
}

/** Far more than a case takes, and far less than the durations that it asserts. */
const TOLERANCE_MS = 600_000

function isEqual(a: unknown, b: unknown): boolean {
	if (Object.is(a, b)) return true
	if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
	if (a instanceof Uint8Array || b instanceof Uint8Array) return hasSameBytes(a, b)
	const [names, others] = [definedNames(a), definedNames(b)]
	return (
		Array.isArray(a) === Array.isArray(b) &&
		names.length === others.length &&
		names.every((name) => Object.hasOwn(b, name) && isEqual(fieldOf(a, name), fieldOf(b, name)))
	)
}

const hasSameBytes = (a: unknown, b: unknown): boolean =>
	a instanceof Uint8Array &&
	b instanceof Uint8Array &&
	a.length === b.length &&
	a.every((byte, index) => byte === b[index])

/** A field that is undefined counts as missing. */
const definedNames = (object: object): string[] =>
	Object.keys(object).filter((name) => fieldOf(object, name) !== undefined)

const fieldOf = (object: object, name: string): unknown => (object as Record<string, unknown>)[name]

const MAX_SHOWN = 300

function shown(value: unknown): string {
	const text = JSON.stringify(value, (_, part) =>
		part instanceof Uint8Array ? `<${part.length} bytes: ${part.slice(0, 16).join(' ')}>` : part,
	)
	return text === undefined || text.length <= MAX_SHOWN ? String(text) : `${text.slice(0, MAX_SHOWN)}…`
}
