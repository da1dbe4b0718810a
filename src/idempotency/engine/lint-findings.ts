/**
 * Probable mistakes in the options of an engine, for `lint`. To find out what `principal` depends on, it is
 * called once with a request whose headers record who reads them: the source text would not show what the
 * functions do that it calls.
 */
import { finding, type LintFinding } from '../../core/lint/finding.ts'
import { HEARTBEATS_PER_LEASE } from './claim.ts'
import type { IdempotencySettings } from './options.ts'

export function lintFindings(settings: IdempotencySettings<unknown, never>): LintFinding[] {
	const { leaseMs, storeTimeoutMs } = settings
	const found = headersReadBy(settings.principal)
		.filter((name) => !CREDENTIALS.has(name))
		.map((name) =>
			finding(
				'principal-from-header',
				settings,
				`principal reads the header "${name}", which any client can set: a client can read the responses of others.`,
				'Return the caller that your authentication has verified.',
			),
		)
	if (leaseMs / HEARTBEATS_PER_LEASE <= storeTimeoutMs)
		found.push(
			finding(
				'lease-too-short',
				settings,
				`A heartbeat may take ${storeTimeoutMs} ms (storeTimeoutMs), and one is due every ${Math.floor(leaseMs / HEARTBEATS_PER_LEASE)} ms: one slow answer of the store loses the lease.`,
				`Set leaseMs above ${storeTimeoutMs * HEARTBEATS_PER_LEASE}.`,
			),
		)
	return found
}

/** Headers that prove who the caller is. */
const CREDENTIALS: ReadonlySet<string> = new Set([
	'api-key',
	'authorization',
	'cookie',
	'dpop',
	'proxy-authorization',
	'x-api-key',
])

/** Returns the headers that a function reads, whichever framework's request it expects. */
function headersReadBy(principal: IdempotencySettings<unknown, never>['principal']): string[] {
	const names = new Set<string>()
	const record = (name: unknown) => {
		if (typeof name === 'string') names.add(name.toLowerCase())
		return undefined
	}
	/** Node reads headers as properties, and the fetch standard through methods. */
	const headers = new Proxy(
		{},
		{ get: (_, name) => (typeof name === 'string' && HEADER_METHODS.has(name) ? record : record(name)) },
	)
	// A Fastify request and a Hono context contain the request again, under these names.
	const raw: object = new Proxy(
		{},
		{
			get: (_, name) => {
				if (name === 'headers' || name === 'headersDistinct') return headers
				if (name === 'header' || name === 'get') return record
				return name === 'req' || name === 'raw' ? raw : undefined
			},
		},
	)
	try {
		const result: unknown = principal({
			method: 'POST',
			path: '/',
			headers: { get: record },
			raw: raw as never,
		})
		// The promise is not awaited, because the function may query a database.
		Promise.resolve(result).catch(() => {})
	} catch {
		// Most functions throw or return undefined if the request has no session and no token.
	}
	return [...names]
}

const HEADER_METHODS: ReadonlySet<string> = new Set(['get', 'has', 'getSetCookie'])
