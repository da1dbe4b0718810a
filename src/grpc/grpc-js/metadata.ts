import { PREVIOUS_ATTEMPTS_KEY } from '../status/retry-metadata.ts'
import type { GrpcMetadata, GrpcMetadataOptions, GrpcModule } from './grpc-types.ts'

/** Headers of HTTP/1 connections, which HTTP/2 forbids. Callers pass them on from HTTP requests. */
const CONNECTION_KEYS: ReadonlySet<string> = /* @__PURE__ */ new Set(
	'connection,http2-settings,keep-alive,proxy-connection,transfer-encoding,upgrade'.split(','),
)

/** Headers of which Node sends one value only. Headers that grpc-js sets itself are left out. */
const SINGLE_VALUE_KEYS: ReadonlySet<string> = /* @__PURE__ */ new Set(
	(
		'access-control-allow-credentials,access-control-max-age,access-control-request-method,age,authorization,content-encoding,' +
		'content-language,content-length,content-location,content-md5,content-range,date,dnt,etag,expires,from,host,if-match,' +
		'if-modified-since,if-none-match,if-range,if-unmodified-since,last-modified,location,max-forwards,proxy-authorization,range,' +
		'referer,retry-after,tk,upgrade-insecure-requests,x-content-type-options'
	).split(','),
)

/**
 * Returns what is wrong with outgoing metadata; undefined if HTTP/2 can send it. Without this check Node does
 * not send the request, and grpc-js opens new connections and tries again until the deadline, or without end.
 * Values that are not strings are left to grpc-js, which sends a number as its digits.
 */
export function findInvalidMetadata(metadata: GrpcMetadata): string | undefined {
	for (const key of keysOf(metadata)) {
		if (CONNECTION_KEYS.has(key)) return `metadata "${key}" cannot be sent: HTTP/2 does not allow this header`
		// grpc-js leaves out keys that begin with a colon.
		if (key.lastIndexOf(':') > 0) return `metadata "${key}" cannot be sent: its key contains a colon`
		const values = metadata.get(key)
		if (values.length > 1 && SINGLE_VALUE_KEYS.has(key))
			return `metadata "${key}" has ${values.length} values, and HTTP allows one`
		if (key.endsWith('-bin')) continue
		for (const value of values)
			if (typeof value === 'string' && !/^[ -~]*$/.test(value))
				return `metadata "${key}" has a value that is not printable ASCII; use a key that ends with -bin for binary values`
	}
	return undefined
}

/** The values by key, as grpc-js stores them: `getMap` would create objects for every call. */
interface StoredMetadata {
	readonly internalRepr?: unknown
}

/** The metadata of a call at its start. For empty metadata, which most calls have, only its options. */
export type InitialMetadata = GrpcMetadata | GrpcMetadataOptions

export function copyMetadata(metadata: GrpcMetadata): InitialMetadata {
	const { internalRepr } = metadata as StoredMetadata
	const isEmpty = internalRepr instanceof Map && internalRepr.size === 0
	return isEmpty ? metadata.getOptions() : metadata.clone()
}

const isMetadata = (initial: InitialMetadata): initial is GrpcMetadata => 'clone' in initial

function keysOf(metadata: GrpcMetadata): Iterable<string> {
	const { internalRepr } = metadata as StoredMetadata
	return internalRepr instanceof Map ? internalRepr.keys() : Object.keys(metadata.getMap())
}

/** Returns the metadata of an attempt. `waitForReady` comes from the method config. */
export function attemptMetadata(
	initial: InitialMetadata,
	previousAttempts: number,
	waitForReady: boolean | undefined,
	{ Metadata }: GrpcModule,
): GrpcMetadata {
	const copy = isMetadata(initial) ? initial.clone() : new Metadata(initial)
	if (previousAttempts > 0) copy.set(PREVIOUS_ATTEMPTS_KEY, String(previousAttempts))
	// What the caller has set comes first.
	if (waitForReady !== undefined) copy.setOptions({ waitForReady, ...copy.getOptions() })
	return copy
}
