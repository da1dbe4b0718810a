import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { signWebhook, verifyWebhook, type WebhookHeaders } from 'yaoki/webhooks'
import { decodeBase64, encodeBase64 } from '../../src/webhooks/base64.ts'
import { equalInConstantTime } from '../../src/webhooks/hmac.ts'
import { reasonOf } from './support.ts'

const bytes = fc.uint8Array({ maxLength: 2_000 })
const ids = fc
	.array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength: 60 })
	.map((codes) => String.fromCharCode(...codes).replaceAll('.', '_'))
const secrets = fc
	.uint8Array({ minLength: 24, maxLength: 64 })
	.map((secret) => `whsec_${Buffer.from(secret).toString('base64')}`)
const seeds = fc
	.uint8Array({ minLength: 32, maxLength: 32 })
	.map((seed) => `whsk_${Buffer.from(seed).toString('base64')}`)

const flip = (body: Uint8Array, bit: number): Uint8Array => {
	const changed = Uint8Array.from(body)
	const at = (bit >> 3) % changed.length
	changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7))
	return changed
}
const flipText = (text: string, bit: number): string =>
	Buffer.from(flip(Buffer.from(text), bit)).toString('latin1')

describe('a signed webhook', () => {
	test('a signed webhook is valid with each of its secrets, byte for byte', () =>
		fc.assert(
			fc.asyncProperty(
				bytes,
				ids,
				fc.array(secrets, { minLength: 1, maxLength: 4 }),
				async (body, id, all) => {
					const headers = await signWebhook({ id, body }, all)
					for (const secret of all) {
						const webhook = await verifyWebhook({ headers, body }, secret)
						expect(webhook.id).toBe(id)
						expect([...webhook.body]).toEqual([...body])
					}
				},
			),
		))

	test('any flipped bit of the body is noticed', () =>
		fc.assert(
			fc.asyncProperty(
				fc.uint8Array({ minLength: 1, maxLength: 500 }),
				ids,
				fc.oneof(secrets, seeds),
				secrets,
				fc.nat(),
				async (body, id, secret, known, bit) => {
					const headers = await signWebhook({ id, body }, [secret, known])
					expect(await reasonOf({ headers, body: flip(body, bit) }, known)).toBe('invalid-signature')
				},
			),
		))

	test('any flipped bit of a header is noticed', () =>
		fc.assert(
			fc.asyncProperty(
				bytes,
				ids,
				secrets,
				fc.constantFrom<keyof WebhookHeaders>('webhook-id', 'webhook-timestamp', 'webhook-signature'),
				fc.nat(),
				async (body, id, secret, name, bit) => {
					const headers = await signWebhook({ id, body }, secret)
					const changed = { ...headers, [name]: flipText(headers[name], bit) }
					expect(await reasonOf({ headers: changed, body }, secret)).toMatch(
						/^(invalid-signature|invalid-header|too-old|too-new)$/,
					)
				},
			),
		))

	test('another secret is noticed', () =>
		fc.assert(
			fc.asyncProperty(bytes, ids, secrets, secrets, async (body, id, secret, other) => {
				fc.pre(secret !== other)
				const headers = await signWebhook({ id, body }, secret)
				expect(await reasonOf({ headers, body }, other)).toBe('invalid-signature')
			}),
		))

	test('any text in the headers gives a WebhookVerificationError', () =>
		fc.assert(
			fc.asyncProperty(
				fc.record({
					'webhook-id': fc.string(),
					'webhook-timestamp': fc.oneof(fc.string(), fc.constant(String(Math.floor(Date.now() / 1_000)))),
					'webhook-signature': fc.string(),
				}),
				secrets,
				async (headers, secret) => {
					expect(await reasonOf({ headers, body: '' }, secret)).toMatch(/-/)
				},
			),
		))
})

test('base64 is read strictly: one text for each value', () =>
	fc.assert(
		fc.property(bytes, fc.string(), (value, text) => {
			const encoded = encodeBase64(value)
			expect(encoded).toBe(Buffer.from(value).toString('base64'))
			expect(decodeBase64(encoded)).toEqual(Uint8Array.from(value))
			const decoded = decodeBase64(text)
			expect(decoded === undefined || encodeBase64(decoded) === text).toBe(true)
		}),
	))

test('texts are compared completely', () =>
	fc.assert(
		fc.property(fc.string(), fc.string(), (one, other) => {
			expect(equalInConstantTime(one, one)).toBe(true)
			expect(equalInConstantTime(one, other)).toBe(one === other)
		}),
	))
