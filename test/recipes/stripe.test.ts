import Stripe from 'stripe'
import { expect, test, vi } from 'vitest'
import { reset } from '../http/faults/steps.ts'
import { BUSY, headersOf, json, skipBackoff, startService } from './support/services.ts'

const HOST = 'api.stripe.com'
const PAYMENT = { amount: 1_200, currency: 'eur' }
const INTENT = json({ id: 'pi_1', object: 'payment_intent' })
const ERROR = { error: { type: 'api_error', message: 'down' } }

vi.stubEnv('STRIPE_API_KEY', 'sk_test_none')
const { stripe } = await import('./.cache/stripe/stripe.ts')

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.catch((thrown: unknown) => thrown)

test('a payment is sent until it succeeds, with one idempotency key', async () => {
	const inProgress = json({ error: { type: 'idempotency_error', message: 'in progress' } }, 409)
	const service = await startService(HOST, [BUSY, reset('request-head'), inProgress, INTENT])
	const { id } = await stripe.paymentIntents.create(PAYMENT)
	expect(id).toBe('pi_1')
	expect(service.requests).toHaveLength(4)
	const keys = headersOf(service, 'idempotency-key')
	expect(keys[0]).toMatch(/^stripe-node-retry-/)
	expect(new Set(keys).size).toBe(1)
	expect(new Set(service.requests.map(({ body }) => body)).size).toBe(1)
})

test('the key of the caller is sent with all attempts', async () => {
	skipBackoff()
	const service = await startService(HOST, [json(ERROR, 500), INTENT])
	await stripe.paymentIntents.create(PAYMENT, { idempotencyKey: 'order-7' })
	expect(headersOf(service, 'idempotency-key')).toEqual(['order-7', 'order-7'])
})

test('a veto of the server ends the attempts', async () => {
	const service = await startService(HOST, json(ERROR, 500, { 'stripe-should-retry': 'false' }))
	expect(await failure(stripe.paymentIntents.create(PAYMENT))).toBeInstanceOf(Stripe.errors.StripeAPIError)
	expect(service.requests).toHaveLength(1)
})

test('four connections that are reset are four requests: the SDK, which repeats them itself, does not', async () => {
	skipBackoff()
	const service = await startService(HOST, reset('request-head'))
	const error = await failure(stripe.paymentIntents.create(PAYMENT))
	expect(error).toBeInstanceOf(Stripe.errors.StripeConnectionError)
	expect(error).toHaveProperty('detail.cause.code', 'ECONNRESET')
	expect(service.requests).toHaveLength(4)
	expect(new Set(headersOf(service, 'idempotency-key')).size).toBe(1)
})
