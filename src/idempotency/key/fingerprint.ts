/**
 * Recognizes that two requests with the same key are the same request: SHA-256 over method, path, sorted
 * query, content type and body. Request headers other than the content type do not count, because a retry may
 * have another trace id, date or signature.
 */
import { canonicalJson, type ExcludedFields } from './canonical-json.ts'
import { sha256 } from './sha256.ts'

/** The parts of a request that identify it. */
export interface FingerprintInput {
	readonly method: string
	readonly path: string
	/** The query without `?`. */
	readonly query: string
	readonly contentType: string | null | undefined
	/** The raw body, or the value that a body parser made of it. */
	readonly body: Uint8Array | ParsedBody | undefined
}

/** A body that a parser has read before, so that its bytes are gone. */
export interface ParsedBody {
	readonly parsed: unknown
}

export interface FingerprintOptions {
	/** Compare JSON bodies by value instead of by their bytes. Default false. */
	readonly canonicalJson?: boolean | undefined
	/**
	 * Members of a JSON body to ignore, by path: `['meta.traceId']`. Implies `canonicalJson`. Default: none.
	 */
	readonly excludedFields?: ExcludedFields | undefined
}

export function fingerprintOf(
	{ method, path, query, contentType, body }: FingerprintInput,
	{ excludedFields = [], canonicalJson: isCanonical = excludedFields.length > 0 }: FingerprintOptions = {},
): string | Promise<string> {
	const type = mediaType(contentType)
	const head = JSON.stringify([method, path, sortedQuery(query), type])
	if (body === undefined) return sha256(head)
	if (!(body instanceof Uint8Array)) return sha256(head + canonicalJson(body.parsed, excludedFields))
	const value = isCanonical && isJson(type) ? parseJson(body) : undefined
	return value ? sha256(head + canonicalJson(value.parsed, excludedFields)) : sha256(head, body)
}

/** Drops the parameters, such as `charset=utf-8`: clients write them in different ways. */
const mediaType = (contentType: string | null | undefined): string =>
	(contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json')

/** Pairs in a fixed order. Values of the same name keep their order, which has a meaning. */
function sortedQuery(query: string): string {
	const params = new URLSearchParams(query)
	params.sort()
	return params.toString()
}

/** Returns undefined if the body is not JSON. Then its bytes are compared. */
function parseJson(body: Uint8Array): ParsedBody | undefined {
	try {
		return { parsed: JSON.parse(new TextDecoder().decode(body)) }
	} catch {
		return undefined
	}
}
