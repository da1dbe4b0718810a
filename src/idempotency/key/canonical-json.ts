/**
 * One text for equal JSON values: members sorted by name, no whitespace. A client that builds its body anew
 * for a retry may write the same members in another order.
 */
import { YaokiError } from '../../core/errors/errors.ts'

/** Members to leave out, by path: `['requestedAt', 'meta.traceId']`. */
export type ExcludedFields = readonly string[]

/** Deeper values are rejected: writing them is recursive, and could overflow the stack. */
export const MAX_JSON_DEPTH = 256

/** Throws an `IdempotencyJsonTooDeepError` for a value with more than 256 levels of arrays and objects. */
export function canonicalJson(value: unknown, excluded: ExcludedFields = []): string {
	return write(value, '', new Set(excluded), MAX_JSON_DEPTH) ?? 'null'
}

/** Undefined for what JSON cannot contain, as `JSON.stringify` returns it. */
function write(
	given: unknown,
	path: string,
	excluded: ReadonlySet<string>,
	levels: number,
): string | undefined {
	const value = hasToJson(given) ? given.toJSON() : given
	if (typeof value !== 'object' || value === null) return JSON.stringify(value)
	if (levels === 0) throw new IdempotencyJsonTooDeepError()
	// The elements of an array have the path of the array.
	if (Array.isArray(value))
		return `[${value.map((element) => write(element, path, excluded, levels - 1) ?? 'null')}]`
	const members: string[] = []
	for (const name of Object.keys(value).sort()) {
		const at = path ? `${path}.${name}` : name
		const text = excluded.has(at) ? undefined : write(Reflect.get(value, name), at, excluded, levels - 1)
		if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
	}
	return `{${members}}`
}

const hasToJson = (value: unknown): value is { toJSON(): unknown } =>
	typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function'

/** A value has too many levels to be compared. The adapters respond with 400. */
export class IdempotencyJsonTooDeepError extends YaokiError {
	override readonly name = 'IdempotencyJsonTooDeepError'

	constructor() {
		super(
			'YAOKI_IDEMPOTENCY_JSON_TOO_DEEP',
			`The value has more than ${MAX_JSON_DEPTH} levels of nested arrays and objects`,
		)
	}
}
