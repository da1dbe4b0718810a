import Anthropic from '@anthropic-ai/sdk'
import { request } from '@octokit/request'
import { createTRPCClient, httpLink } from '@trpc/client'
import { initTRPC, TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import Stripe from 'stripe'
import WebSocket from 'ws'
import { deadPort, listen, thrownBy, withResponse, withServer } from './provoke.js'

const anthropic = (baseURL, more = {}) => {
	const client = new Anthropic({ apiKey: 'test', baseURL, maxRetries: 0, ...more })
	return thrownBy(() =>
		client.messages.create({ model: 'any', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] }),
	)
}
const anthropicError = (status, type, headers = {}) =>
	withResponse(status, { type: 'error', error: { type, message: 'Said by the service' } }, headers, anthropic)

const stripe = (port, more = {}) => {
	const client = new Stripe('sk_test', {
		protocol: 'http',
		host: '127.0.0.1',
		port,
		maxNetworkRetries: 0,
		telemetry: false,
		...more,
	})
	return thrownBy(() => client.charges.create({ amount: 1, currency: 'eur' }))
}
const stripeError = (status, error, headers = {}) =>
	withResponse(status, { error: { message: 'Said by the service', ...error } }, headers, (url) =>
		stripe(new URL(url).port),
	)

const octokitError = (headers) =>
	withResponse(403, { message: 'Said by the service' }, headers, (baseUrl) =>
		thrownBy(() => request('GET /user', { baseUrl })),
	)

/** The error of a WebSocket whose upgrade got this status. */
const upgradeError = (status) =>
	withResponse(
		status,
		'',
		{},
		(url) => new Promise((resolve) => new WebSocket(url.replace('http', 'ws')).once('error', resolve)),
	)

const t = initTRPC.create()
const router = t.router({
	fail: t.procedure
		.input((value) => value)
		.query(({ input }) => {
			throw input === 'bug'
				? new Error('a bug')
				: new TRPCError({ code: input, message: 'Said by the service' })
		}),
	typed: t.procedure
		.input((value) => {
			if (typeof value !== 'number') throw new Error('expected a number')
			return value
		})
		.query(({ input }) => input),
})

async function trpc(input, headers = {}) {
	const { server } = { server: createHTTPServer({ router, responseMeta: () => ({ headers }) }) }
	const port = await listen(server.server ?? server)
	const client = createTRPCClient({ links: [httpLink({ url: `http://127.0.0.1:${port}` })] })
	const error = await thrownBy(() => (input === 7 ? client.typed.query('seven') : client.fail.query(input)))
	server.close()
	return error
}
const trpcAt = (url) =>
	thrownBy(() => createTRPCClient({ links: [httpLink({ url })] }).fail.query('CONFLICT'))
const caller = (input) => thrownBy(() => t.createCallerFactory(router)({}).fail(input))

export const cases = {
	'anthropic: rate limit with retry-after': () =>
		anthropicError(429, 'rate_limit_error', { 'retry-after': 7 }),
	'anthropic: overloaded': () => anthropicError(529, 'overloaded_error'),
	'anthropic: invalid request': () => anthropicError(400, 'invalid_request_error'),
	'anthropic: wrong key': () => anthropicError(401, 'authentication_error'),
	'anthropic: connection refused': async () => anthropic(`http://127.0.0.1:${await deadPort()}`),
	'anthropic: timeout': () =>
		withServer(
			() => {},
			(port) => anthropic(`http://127.0.0.1:${port}`, { timeout: 20 }),
		),
	'stripe: card declined': () =>
		stripeError(402, { type: 'card_error', code: 'card_declined', decline_code: 'insufficient_funds' }),
	'stripe: rate limit with retry-after': () =>
		stripeError(429, { type: 'invalid_request_error', code: 'rate_limit' }, { 'Retry-After': 3 }),
	'stripe: lock timeout': () => stripeError(429, { type: 'invalid_request_error', code: 'lock_timeout' }),
	'stripe: lock timeout as a conflict': () =>
		stripeError(409, { type: 'invalid_request_error', code: 'lock_timeout' }),
	'stripe: conflict that should be retried': () =>
		stripeError(409, { type: 'invalid_request_error' }, { 'Stripe-Should-Retry': 'true' }),
	'stripe: api error that should not be retried': () =>
		stripeError(500, { type: 'api_error' }, { 'Stripe-Should-Retry': 'false' }),
	'stripe: invalid request': () =>
		stripeError(400, { type: 'invalid_request_error', code: 'parameter_missing' }),
	'stripe: idempotency key reused': () => stripeError(400, { type: 'idempotency_error' }),
	'stripe: api error': () => stripeError(500, { type: 'api_error' }),
	'stripe: connection refused': async () => stripe(await deadPort()),
	'stripe: timeout': () =>
		withServer(
			() => {},
			(port) => stripe(port, { timeout: 20 }),
		),
	'octokit: forbidden': () => octokitError({ 'x-ratelimit-remaining': 4999 }),
	'octokit: primary rate limit': () =>
		octokitError({ 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': 1_655_120_964 }),
	'octokit: secondary rate limit with retry-after': () => octokitError({ 'retry-after': 6 }),
	'ws: upgrade with 401': () => upgradeError(401),
	'ws: upgrade with 429': () => upgradeError(429),
	'ws: upgrade with 502': () => upgradeError(502),
	'trpc client: not found': () => trpc('NOT_FOUND'),
	'trpc client: too many requests with retry-after': () => trpc('TOO_MANY_REQUESTS', { 'retry-after': '4' }),
	'trpc client: internal server error': () => trpc('bug'),
	'trpc client: invalid input': () => trpc(7),
	'trpc client: timeout of the server': () => trpc('TIMEOUT'),
	'trpc client: connection refused': async () => trpcAt(`http://127.0.0.1:${await deadPort()}`),
	'trpc client: a gateway that responds with HTML': () =>
		withResponse(502, '<html>', { 'content-type': 'text/html' }, trpcAt),
	'trpc server: not found': () => caller('NOT_FOUND'),
	'trpc server: conflict': () => caller('CONFLICT'),
	'trpc server: too many requests': () => caller('TOO_MANY_REQUESTS'),
	'trpc server: internal server error': () => caller('bug'),
}
