import type { IdempotencyClaimRequest, StoredResponse } from '../../../src/idempotency/store/store.ts'

export const LEASE_MS = 60_000
export const RETENTION_MS = 3_600_000

/** A claim of the key `id` by the request `token`. */
export const request = (
	id: string,
	token: string,
	part: Partial<IdempotencyClaimRequest> = {},
): IdempotencyClaimRequest => ({
	id,
	token,
	fingerprint: 'f',
	leaseMs: LEASE_MS,
	retentionMs: RETENTION_MS,
	abandoned: 'rerun',
	...part,
})

/** Every byte, and two headers of one name. */
export const RESPONSE: StoredResponse = {
	status: 201,
	headers: [
		['content-type', 'application/octet-stream'],
		['link', '</a>'],
		['link', '</b>; title="ä\\"'],
	],
	body: Uint8Array.from({ length: 256 }, (_, at) => at),
}
