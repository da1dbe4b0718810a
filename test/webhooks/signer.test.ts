import { describe, expect, test } from 'vitest'
import { createWebhookKeyPair, signWebhook, verifyWebhook } from 'yaoki/webhooks'
import { createHmac, webHmac } from '../../src/webhooks/hmac.ts'
import { createSigner } from '../../src/webhooks/signer.ts'
import { BODY, OTHER_SECRET, SECRET } from './support.ts'

const body = new TextEncoder().encode(BODY)

describe('createSigner', () => {
	test('signs within the call with HMAC secrets on Node', () => {
		const time = 1_614_265_330
		expect(createSigner(SECRET)('msg_p5jXN8AQM9LWM0D4loKWxJek', time, body)).toBe(
			'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
		)
		expect(createSigner([SECRET, OTHER_SECRET])('msg_1', time, body)).toMatch(/^v1,\S{44} v1,\S{44}$/)
	})

	test('returns a promise with a private key, and keeps the order of the secrets', async () => {
		const { privateKey } = await createWebhookKeyPair()
		const signed = createSigner([privateKey, SECRET, privateKey])('msg_1', 1, body)
		expect(signed).toBeInstanceOf(Promise)
		expect(await signed).toMatch(/^v1a,\S{88} v1,\S{44} v1a,\S{88}$/)
	})

	test('WebCrypto gives the same as node:crypto', async () => {
		const secret = Uint8Array.from({ length: 32 }, (_, at) => at)
		for (const encoding of ['base64', 'hex'] as const)
			expect(await webHmac(secret)('msg_1.1.', body, encoding)).toBe(
				createHmac(secret)('msg_1.1.', body, encoding),
			)
	})
})

describe('signWebhook', () => {
	test.each([
		'a.b',
		'',
		' ',
		'a b',
		'a\nb',
		'ž',
		'🙂',
		7 as unknown as string,
		undefined as unknown as string,
	])('the id %j is rejected', async (id) => {
		await expect(signWebhook({ id, body: BODY }, SECRET)).rejects.toMatchObject({
			name: 'InvalidArgumentError',
			argument: 'content.id',
		})
	})

	test.each([undefined, null, 7, { a: 1 }, [1], new Date(0)])(
		'the body %j is rejected, and is not in the error',
		async (value) => {
			const call = signWebhook({ id: 'msg_1', body: value as unknown as string }, SECRET)
			await expect(call).rejects.toMatchObject({
				argument: 'content.body',
				received: value === undefined ? undefined : expect.stringContaining('a value of the type'),
			})
		},
	)

	test.each([new Date(Number.NaN), new Date(-1), 1_614_265_330 as unknown as Date, 'now' as unknown as Date])(
		'the timestamp %j is rejected',
		async (timestamp) => {
			await expect(signWebhook({ id: 'msg_1', timestamp, body: BODY }, SECRET)).rejects.toMatchObject({
				argument: 'content.timestamp',
			})
		},
	)

	test('unknown fields are rejected', async () => {
		const content = { id: 'msg_1', body: BODY, boddy: BODY }
		await expect(signWebhook(content, SECRET)).rejects.toThrow('did you mean "body"?')
		await expect(signWebhook(null as unknown as typeof content, SECRET)).rejects.toMatchObject({
			argument: 'content',
		})
	})

	test('its headers are accepted by fetch', async () => {
		const headers = await signWebhook({ id: 'msg_1', body }, SECRET)
		const request = new Request('https://shop.example.com', { method: 'POST', headers, body })
		expect((await verifyWebhook(request, SECRET)).id).toBe('msg_1')
	})
})
