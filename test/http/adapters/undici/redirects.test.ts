import { Agent, interceptors, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { undiciInterceptor } from '../../../../src/http/adapters/undici/undici-interceptor.ts'
import type { HttpOptions } from '../../../../src/http/options/http-options.ts'
import { answer, refusedUrl, type Step } from '../../faults/fault-server.ts'
import { serving } from './composed.ts'

const FINE = answer({ body: 'fine' })

/** A dispatcher whose redirects are followed inside the interceptor, and a server that redirects. */
async function between(location: string, options: HttpOptions = {}) {
	const agent = new Agent()
	onTestFinished(() => agent.destroy())
	const follow = interceptors.redirect({ maxRedirections: 5 })
	const eager = { maxRetries: 0, circuitBreaker: { failureThreshold: 2 } }
	const dispatcher = agent.compose(follow, undiciInterceptor({ ...eager, ...options }))
	const redirect: Step = answer({ status: 302, headers: { location } })
	const server = await serving({ '/go': redirect, '/': FINE })
	const send = async (path: `/${string}`) => {
		const { statusCode, body } = await request(server.url(path), { dispatcher })
		await body.dump()
		return statusCode
	}
	return { send }
}

test('a redirect to an origin that responds with Retry-After does not pause the first origin', async () => {
	const busy = await serving(answer({ status: 429, headers: { 'retry-after': '3600' } }))
	const { send } = await between(busy.url('/there'))
	expect(await send('/go')).toBe(429)
	expect(await send('/')).toBe(200)
})

test('a redirect to an origin that fails does not open the circuit of the first origin', async () => {
	const broken = await serving(answer({ status: 500 }))
	const { send } = await between(broken.url('/there'))
	for (let n = 0; n < 3; n++) expect(await send('/go')).toBe(500)
	expect(await send('/')).toBe(200)
})

test('a redirect to an origin that is down does not open the circuit of the first origin', async () => {
	const { send } = await between(await refusedUrl())
	for (let n = 0; n < 3; n++) await expect(send('/go')).rejects.toThrow()
	expect(await send('/')).toBe(200)
})
