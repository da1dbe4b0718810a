import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createWebhookKeyPair, createWebhookSecret, signWebhook, verifyWebhook } from 'yaoki/webhooks'
import { checkSecret } from '../../src/webhooks/secrets.ts'
import { BODY, OTHER_SECRET, plainRequest, SECRET, signedRequest } from './support.ts'

const secretOf = (bytes: number, prefix = 'whsec_') => prefix + Buffer.alloc(bytes, 7).toString('base64')
const { privateKey, publicKey } = await createWebhookKeyPair()

describe('new secrets', () => {
	test('new secrets have 32 random bytes and sign', async () => {
		const secrets = Array.from({ length: 100 }, createWebhookSecret)
		expect(new Set(secrets).size).toBe(100)
		for (const secret of secrets) expect(Buffer.from(secret.slice(6), 'base64').length).toBe(32)
		expect((await verifyWebhook(await signedRequest(BODY, secrets[0]), secrets)).id).toBe('msg_1')
	})
})

describe('invalid secrets', () => {
	test.each([24, 32, 64])('a secret of %d bytes is accepted', async (bytes) => {
		expect(() => checkSecret('secret', secretOf(bytes))).not.toThrow()
		const request = await signedRequest(BODY, secretOf(bytes))
		expect((await verifyWebhook(request, secretOf(bytes))).id).toBe('msg_1')
	})

	test.each<[string, unknown, unknown]>([
		['missing', undefined, undefined],
		['null', null, null],
		['empty', '', ''],
		['a prefix alone', 'whsec_', 'whsec_*** (0 bytes)'],
		['23 bytes', secretOf(23), 'whsec_*** (23 bytes)'],
		['65 bytes', secretOf(65), 'whsec_*** (65 bytes)'],
		['not base64', 'whsec_this is not a secret', 'whsec_*** (not base64)'],
		['URL-safe base64', `whsec_${'-_'.repeat(16)}`, 'whsec_*** (not base64)'],
		['without padding', secretOf(32).slice(0, -1), 'whsec_*** (not base64)'],
		['with a line break', `${SECRET}\n`, 'a text with white space around it'],
		['without a prefix', SECRET.slice(6), '*** without such a prefix'],
		['with the prefix in another case', SECRET.replace('whsec_', 'WHSEC_'), '*** without such a prefix'],
		['a short private key', secretOf(33, 'whsk_'), 'whsk_*** (33 bytes)'],
		['a public key', publicKey, 'whpk_*** (32 bytes)'],
		['bytes', new Uint8Array(32), 'a value of the type object'],
		['a number', 12_345_678, 'a value of the type number'],
	])('%s is rejected and not shown', async (_, secret, received) => {
		const invalid = { name: 'InvalidArgumentError', argument: 'endpoint.secret', received }
		expect(() => checkSecret('endpoint.secret', secret)).toThrow(expect.objectContaining(invalid))
		const signed = signWebhook({ id: 'msg_1', body: BODY }, [SECRET, secret as string])
		await expect(signed).rejects.toMatchObject({ ...invalid, argument: 'secrets[1]' })
	})

	test('no secret at all is rejected', async () => {
		await expect(signWebhook({ id: 'msg_1', body: BODY }, [])).rejects.toThrow(
			'Invalid argument "secrets": expected a secret, or a list of at least one',
		)
		await expect(verifyWebhook(await plainRequest(), [])).rejects.toMatchObject({ argument: 'secrets' })
		const missing = verifyWebhook(await plainRequest(), process.env['NO_SUCH_SECRET'] as string)
		await expect(missing).rejects.toMatchObject({ argument: 'secrets', received: undefined })
	})

	test('receivers do not take private keys', async () => {
		const received = { argument: 'secrets', received: 'whsk_*** (64 bytes)' }
		await expect(verifyWebhook(await plainRequest(), privateKey)).rejects.toMatchObject(received)
	})
})

/** Everything that a logger may print of an error. */
function printed(error: unknown): string {
	if (!(error instanceof Error)) return String(error)
	const fields = Object.getOwnPropertyNames(error).map((name) => {
		const value: unknown = Reflect.get(error, name)
		return value instanceof Error ? printed(value) : JSON.stringify(value)
	})
	return [String(error), error.stack, ...fields].join('\n')
}

describe('errors never contain a secret', () => {
	const wrong = fc.oneof(
		fc.base64String({ minLength: 8, maxLength: 120 }).map((text) => `whsec_${text}`),
		fc.base64String({ minLength: 8, maxLength: 120 }).map((text) => `whsk_${text}`),
		fc.string({ minLength: 8, maxLength: 60 }),
		fc.string({ minLength: 8, maxLength: 30 }).map((text) => ` https://user:${text}@host `),
	)
	/** The part that is secret. White space is a part of other texts. */
	const secretPart = (secret: string): string => secret.replace(/^wh\w+?_/, '').trim()

	test('errors of signing never contain a secret', () =>
		fc.assert(
			fc.asyncProperty(wrong, async (secret) => {
				fc.pre(secretPart(secret).length >= 8)
				const error = await signWebhook({ id: 'bad.id', body: BODY }, [SECRET, secret]).catch(
					(thrown: unknown) => thrown,
				)
				const text = printed(error)
				expect(text).not.toContain(secretPart(secret))
				expect(text).not.toContain(SECRET.slice(6))
			}),
		))

	test('errors of verification never contain a secret', () =>
		fc.assert(
			fc.asyncProperty(
				wrong,
				fc.constantFrom('standard' as const, 'stripe' as const, 'github' as const),
				async (secret, scheme) => {
					fc.pre(secretPart(secret).length >= 8)
					const request = await plainRequest(BODY, OTHER_SECRET)
					const headers = {
						...request.headers,
						'stripe-signature': `t=${request.headers['webhook-timestamp']},v1=00`,
						'x-hub-signature-256': 'sha256=00',
						'x-github-delivery': 'd-1',
					}
					const error = await verifyWebhook({ headers, body: BODY }, [secret], { scheme }).catch(
						(thrown: unknown) => thrown,
					)
					expect(error).toBeInstanceOf(Error)
					expect(printed(error)).not.toContain(secretPart(secret))
				},
			),
		))
})
