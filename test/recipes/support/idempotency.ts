/** What the tests of the recipes for servers share: their environment, requests with a key, and what a client sees of a response. */
import { expect, onTestFinished, vi } from 'vitest'
import type * as Idempotency from 'yaoki/idempotency'
import { answer, type FaultServer, startFaultServer } from '../../http/faults/fault-server.ts'
import { json } from './services.ts'

/** Environment and options of the engine for the code of a recipe that the test imports afterwards. */
export function setRecipe(
	environment: Readonly<Record<string, string>>,
	options: Partial<Idempotency.IdempotencyOptions<unknown, never>> = {},
): void {
	for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
	vi.resetModules()
	vi.doMock('yaoki/idempotency', async (load) => {
		const real = await load<typeof Idempotency>()
		return {
			...real,
			idempotency: (given: Idempotency.IdempotencyOptions) => real.idempotency({ ...given, ...options }),
		}
	})
	onTestFinished(() => {
		vi.unstubAllEnvs()
		vi.doUnmock('yaoki/idempotency')
	})
}

export interface Sent {
	readonly key?: string
	readonly user?: string
	readonly body?: string | Uint8Array<ArrayBuffer>
	readonly type?: string
	readonly signal?: AbortSignal
}

/** Sends a POST. The defaults are a charge of 5 by ada, with the key `k1`. */
export function post(url: string, sent: Sent = {}): Promise<Response> {
	const { key = 'k1', user = 'ada', body = '{"amount":5}', type = 'application/json', signal } = sent
	const headers: Record<string, string> = { 'content-type': type }
	if (key !== '') headers['idempotency-key'] = key
	if (user !== '') headers['authorization'] = `Bearer token-of-${user}`
	return fetch(url, { method: 'POST', headers, body, signal: signal ?? null })
}

/** Status, body, and whether it is a replay. */
export async function seen(response: Response): Promise<readonly [number, string, boolean]> {
	return [response.status, await response.text(), response.headers.has('idempotency-replayed')]
}

/** A payment service that responds to the first request after `respond()`, and to all with the id of a charge. */
export async function startHeldService(): Promise<{ readonly service: FaultServer; respond(): void }> {
	const { promise: after, resolve: respond } = Promise.withResolvers<void>()
	const headers = { 'content-type': 'application/json' }
	const service = await startFaultServer([
		answer({ headers, body: '{"id":"c1"}', after }),
		json({ id: 'c2' }),
	])
	onTestFinished(() => service.close())
	return { service, respond }
}

/** Checks the Retry-After of a 409: the client comes back soon. */
export function expectSoon(retryAfter: string | null | undefined): void {
	expect(Number(retryAfter)).toBeGreaterThanOrEqual(1)
	expect(Number(retryAfter)).toBeLessThanOrEqual(5)
}
