/**
 * One text for equal JSON values: members sorted by name, no whitespace. A client that builds its body anew for a retry may write the same
 * members in another order.
 */

/** Members to leave out, by path: `['requestedAt', 'meta.traceId']`. */
export type ExcludedFields = readonly string[]

export function canonicalJson(value: unknown, excluded: ExcludedFields = []): string {
	return write(value, '', new Set(excluded)) ?? 'null'
}

/** Undefined for what JSON cannot contain, as `JSON.stringify` returns it. */
function write(given: unknown, path: string, excluded: ReadonlySet<string>): string | undefined {
	const value = hasToJson(given) ? given.toJSON() : given
	if (typeof value !== 'object' || value === null) return JSON.stringify(value)
	// The elements of an array have the path of the array.
	if (Array.isArray(value)) return `[${value.map((element) => write(element, path, excluded) ?? 'null')}]`
	const members: string[] = []
	for (const name of Object.keys(value).sort()) {
		const at = path ? `${path}.${name}` : name
		const text = excluded.has(at) ? undefined : write(Reflect.get(value, name), at, excluded)
		if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
	}
	return `{${members}}`
}

const hasToJson = (value: unknown): value is { toJSON(): unknown } =>
	typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function'
