/** The operations on the table, synchronous, in a transaction that is open. */
import type { RunStatement } from '../../../sql/sqlite-client.ts'
import type { SqliteConnection, SqlRow } from '../../../sql/sqlite-connection.ts'
import { decide } from '../decide.ts'
import {
	decodeResponse,
	decodeSteps,
	encodeResponse,
	encodeStep,
	NO_STEPS,
	toStoredKey,
	wholeMs,
} from '../encoded.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyClaimRequest,
	IdempotencyClaimResult,
	StoredKey,
	StoredResponse,
} from '../store.ts'

const SELECT = `
SELECT state, fingerprint, token, lease_until, steps, status, headers, body
FROM yaoki_idempotency_keys WHERE id = ? AND expires_at > ?`

/** Replaces a key whose retention is over. */
const INSERT = `
INSERT OR REPLACE INTO yaoki_idempotency_keys (id, fingerprint, token, state, lease_until, expires_at, created_at)
VALUES (?, ?, ?, 'running', ?, ?, ?)`

const TAKE_OVER = `
UPDATE yaoki_idempotency_keys SET state = 'running', token = ?2, lease_until = ?3, expires_at = ?4 WHERE id = ?1`

/** The claim of the parameters ?1 and ?2 still holds the key at the time ?3. */
const HELD = "WHERE id = ?1 AND token = ?2 AND state = 'running' AND expires_at > ?3"

const HEARTBEAT = `
UPDATE yaoki_idempotency_keys SET lease_until = ?4, expires_at = ?4 + expires_at - lease_until ${HELD}`

const SAVE_STEP = `UPDATE yaoki_idempotency_keys SET steps = coalesce(steps, '') || ?4 ${HELD}`

/** Steps are of no use after the response. */
const COMPLETE = `
UPDATE yaoki_idempotency_keys SET steps = NULL, state = CASE WHEN ?4 IS NULL THEN 'unstored' ELSE 'completed' END,
	status = ?4, headers = ?5, body = ?6, completed_at = ?3, expires_at = ?7 ${HELD}`

const FORGET = `DELETE FROM yaoki_idempotency_keys ${HELD} AND steps IS NULL`
const RELEASE = `UPDATE yaoki_idempotency_keys SET state = 'released' ${HELD}`

const ABANDONED = `
SELECT token FROM yaoki_idempotency_keys WHERE id = ? AND state = 'running' AND lease_until <= ? AND expires_at > ?`

/** A key whose lease has not ended at the time ?2 is deleted only if ?3 is 1. */
const DELETE = `
DELETE FROM yaoki_idempotency_keys WHERE id = ?1 AND expires_at > ?2 AND (?3 = 1 OR state <> 'running' OR lease_until <= ?2)`

const PURGE = `
DELETE FROM yaoki_idempotency_keys WHERE rowid IN (
	SELECT rowid FROM yaoki_idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?
)`

const FIND = `
SELECT token, state, lease_until, created_at, completed_at, expires_at, status, length(body), steps
FROM yaoki_idempotency_keys WHERE id = ? AND expires_at > ?`

/** Stores a response in a transaction of the user, on the user's connection. */
export function completeOn(
	run: RunStatement,
	now: number,
	{ id, token }: IdempotencyClaimRef,
	response: StoredResponse | undefined,
	retentionMs: number,
): boolean {
	const params = [id, token, now, ...columnsOf(response), now + wholeMs(retentionMs)]
	return run(`${COMPLETE} RETURNING 1`, ...params).length > 0
}

const columnsOf = (response: StoredResponse | undefined) =>
	response ? encodeResponse(response) : ([null, null, null] as const)

export class SqliteKeys {
	readonly #connection: SqliteConnection

	constructor(connection: SqliteConnection) {
		this.#connection = connection
	}

	/** Returns what the request finds, without a claim; undefined if it may claim the key. */
	lookUp(request: IdempotencyClaimRequest): Exclude<IdempotencyClaimResult, { kind: 'claimed' }> | undefined {
		const now = this.#connection.now()
		const row = this.#row(request.id, now)
		const result = row && toResult(row, request, now)
		return result?.kind === 'claimed' ? undefined : result
	}

	claim(request: IdempotencyClaimRequest): IdempotencyClaimResult {
		const { id, fingerprint, token } = request
		const now = this.#connection.now()
		const row = this.#row(id, now)
		const result = row ? toResult(row, request, now) : { kind: 'claimed' as const, steps: NO_STEPS }
		if (result.kind !== 'claimed') return result
		const leaseUntil = now + wholeMs(request.leaseMs)
		const expiresAt = leaseUntil + wholeMs(request.retentionMs)
		if (row) this.#connection.run(TAKE_OVER, id, token, leaseUntil, expiresAt)
		else this.#connection.run(INSERT, id, fingerprint, token, leaseUntil, expiresAt, now)
		return result
	}

	heartbeat(ref: IdempotencyClaimRef, leaseMs: number): boolean {
		return this.#write(HEARTBEAT, ref, this.#connection.now() + wholeMs(leaseMs))
	}

	saveStep(ref: IdempotencyClaimRef, name: string, value: string): boolean {
		return this.#write(SAVE_STEP, ref, encodeStep(name, value))
	}

	complete(ref: IdempotencyClaimRef, response: StoredResponse | undefined, retentionMs: number): boolean {
		return this.#write(COMPLETE, ref, ...columnsOf(response), this.#connection.now() + wholeMs(retentionMs))
	}

	release(ref: IdempotencyClaimRef): boolean {
		return this.#write(FORGET, ref) || this.#write(RELEASE, ref)
	}

	resolve(id: string, response: StoredResponse | undefined, retentionMs: number): boolean {
		const now = this.#connection.now()
		const row = this.#connection.row(ABANDONED, id, now, now)
		if (!row) return false
		const ref = { id, token: String(row[0]) }
		return response ? this.complete(ref, response, retentionMs) : this.release(ref)
	}

	delete(id: string, isForced: boolean): boolean {
		return this.#connection.run(DELETE, id, this.#connection.now(), isForced ? 1 : 0) > 0
	}

	purge(limit: number): number {
		return this.#connection.run(PURGE, this.#connection.now(), limit)
	}

	find(id: string): StoredKey | undefined {
		const now = this.#connection.now()
		const row = this.#connection.row(FIND, id, now)
		if (!row) return undefined
		const [token, state, leaseUntil, createdAt, completedAt, expiresAt, status, bodyBytes, steps] = row
		return toStoredKey({
			token: String(token),
			state: state as StoredKey['state'],
			leaseLeftMs: Number(leaseUntil) - now,
			createdAt: Number(createdAt),
			completedAt: completedAt as number | null,
			expiresAt: Number(expiresAt),
			status: status as number | null,
			bodyBytes: bodyBytes as number | null,
			steps: steps as string | null,
		})
	}

	#row(id: string, now: number): SqlRow | undefined {
		return this.#connection.row(SELECT, id, now)
	}

	#write(
		sql: string,
		{ id, token }: IdempotencyClaimRef,
		...params: (string | number | null | Uint8Array)[]
	): boolean {
		return this.#connection.run(sql, id, token, this.#connection.now(), ...params) > 0
	}
}

function toResult(row: SqlRow, request: IdempotencyClaimRequest, now: number): IdempotencyClaimResult {
	const [state, fingerprint, token, leaseUntil, steps, status, headers, body] = row
	const key = {
		state: state as StoredKey['state'],
		fingerprint: String(fingerprint),
		token: String(token),
		leaseUntil: Number(leaseUntil),
		get steps() {
			return decodeSteps(steps as string | null)
		},
		get response() {
			return status === null ? undefined : decodeResponse(Number(status), String(headers), body)
		},
	}
	return decide(key, request, now)
}
