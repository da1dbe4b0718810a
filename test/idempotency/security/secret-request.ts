/** One request in all of whose parts is a text that must not be stored, sent until its response is replayed. */
import { expect } from 'vitest'
import { fetchIdempotency, type IdempotencyStore, idempotency } from '../../../src/idempotency/index.ts'
import { type IdempotencyIdentity, identityHash } from '../../../src/idempotency/key/identity.ts'
import { encodingsIn } from './byte-search.ts'

export const SECRETS = {
	key: 'key-4f9c1e77b0',
	principal: 'principal-ada-81d2',
	path: 'path-account-55e0',
	query: 'query-token-c3a9',
	authorization: 'authorization-9be1',
	cookie: 'cookie-session-07f4',
	header: 'custom-header-d6b8',
	body: 'request-body-card-4242',
	otherBody: 'request-body-other-1881',
	setCookie: 'set-cookie-session-e29a',
	responseHeader: 'response-header-internal-30c5',
	error: 'error-message-f2a6',
} as const

/** What the handler returns, which is stored. */
const STORED = {
	step: 'step-result-ch_77120',
	body: 'response-body-receipt-90210',
	header: 'response-etag-66d1',
} as const

const PATH = `/accounts/${SECRETS.path}/charges`

/** The request's key. Its hash is stored. */
export const IDENTITY: IdempotencyIdentity = {
	principal: SECRETS.principal,
	method: 'POST',
	route: PATH,
	key: SECRETS.key,
}

/** Returns all that a database contains. */
export type Dump = () => Buffer | Promise<Buffer>

/**
 * Sends the request, and looks into the database in each state of its key: claimed, with a step, released, completed and replayed. Returns the events
 * of the engine. The response and the step must be found, because a search that finds nothing proves nothing.
 */
export async function storesNoSecret(store: IdempotencyStore, dump: Dump): Promise<unknown[]> {
	const id = await identityHash('payments', IDENTITY)
	const inspect = async (state: string, ...stored: readonly string[]) => {
		const bytes = await dump()
		for (const text of [id, ...stored]) expect(encodingsIn(bytes, text), `${text}, ${state}`).not.toEqual([])
		expect(secretsIn(bytes), state).toEqual([])
	}
	const engine = idempotency({ name: 'payments', store, principal: () => SECRETS.principal })
	const events: unknown[] = []
	engine.subscribe((event) => events.push(event))
	let runs = 0
	const handle = fetchIdempotency(engine, async (request: Request, context) => {
		const isFirst = ++runs === 1
		expect(await request.text()).toContain(SECRETS.body)
		if (isFirst) await inspect('claimed')
		await context.step('charge', () => ({ id: STORED.step }))
		if (isFirst) {
			await inspect('running with a step', STORED.step)
			throw new Error(SECRETS.error)
		}
		return new Response(STORED.body, {
			status: 201,
			headers: {
				etag: `"${STORED.header}"`,
				'set-cookie': `session=${SECRETS.setCookie}`,
				'x-internal': SECRETS.responseHeader,
			},
		})
	})
	await expect(handle(request(SECRETS.body))).rejects.toThrow(SECRETS.error)
	await inspect('released', STORED.step)
	const response = await handle(request(SECRETS.body))
	expect(response.headers.get('set-cookie')).toContain(SECRETS.setCookie)
	expect(await response.text()).toBe(STORED.body)
	await inspect('completed', STORED.body, STORED.header)
	const replay = await handle(request(SECRETS.body))
	expect([await replay.text(), replay.headers.get('idempotency-replayed')]).toEqual([STORED.body, 'true'])
	expect((await handle(request(SECRETS.otherBody))).status).toBe(422)
	await inspect('replayed', STORED.body, STORED.header)
	return events
}

/** Returns the names of the secrets that the bytes contain, with their encodings. */
export const secretsIn = (bytes: Buffer): string[] =>
	Object.entries(SECRETS).flatMap(([name, secret]) =>
		encodingsIn(bytes, secret).map((encoding) => `${name} in ${encoding}`),
	)

const request = (card: string): Request =>
	new Request(`https://shop.example.com${PATH}?token=${SECRETS.query}`, {
		method: 'POST',
		headers: {
			'idempotency-key': SECRETS.key,
			authorization: `Bearer ${SECRETS.authorization}`,
			cookie: `session=${SECRETS.cookie}`,
			'content-type': 'application/json',
			'x-custom': SECRETS.header,
		},
		body: JSON.stringify({ card }),
	})
