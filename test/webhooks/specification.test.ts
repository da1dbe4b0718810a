/** The vectors of the specification's own libraries, and both directions with its JavaScript library. */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { createWebhookKeyPair, createWebhookSecret, signWebhook, verifyWebhook } from 'yaoki/webhooks'
import { ed25519Signer, ed25519Verifier } from '../../src/webhooks/ed25519.ts'
import { BODY, OTHER_SECRET, plainRequest, reasonOf, rejection, SECRET, signedRequest } from './support.ts'

const VECTOR = {
	'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
	'webhook-timestamp': '1614265330',
	'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const SIGNED_AT = new Date(1_614_265_330_000)
const runtimeAt = (ms: number) => ({
	now: () => 0,
	wallNow: () => ms,
	random: () => 0,
	setTimer: () => () => {},
})
const runtime = runtimeAt(SIGNED_AT.getTime())

describe('the vectors of the specification', () => {
	test('the vector is signed with the same headers', async () => {
		const headers = await signWebhook({ id: VECTOR['webhook-id'], timestamp: SIGNED_AT, body: BODY }, SECRET)
		expect(headers).toEqual(VECTOR)
	})

	test('the vector is valid at the time of its signature', async () => {
		const webhook = await verifyWebhook({ headers: VECTOR, body: BODY }, SECRET, { runtime })
		expect(webhook).toMatchObject({ id: VECTOR['webhook-id'], timestamp: SIGNED_AT })
		expect(webhook.json()).toEqual({ test: 2_432_232_314 })
		expect(new TextDecoder().decode(webhook.body)).toBe(BODY)
	})

	test('one valid signature among others is enough', async () => {
		const others = ['v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=', 'v2,Ceo5qEr07ixe2NLpvHk3', 'v1', '']
		const headers = {
			...VECTOR,
			'webhook-signature': [...others, VECTOR['webhook-signature'], ...others].join(' '),
		}
		expect((await verifyWebhook({ headers, body: BODY }, SECRET, { runtime })).id).toBe(VECTOR['webhook-id'])
	})

	test.each([
		['another version of a valid signature', VECTOR['webhook-signature'].replace('v1', 'v2')],
		['a signature of the other kind', VECTOR['webhook-signature'].replace('v1', 'v1a')],
		['the start of a signature', VECTOR['webhook-signature'].slice(0, 8)],
		['a signature without padding', VECTOR['webhook-signature'].slice(0, -1)],
		['an empty signature', 'v1,'],
		['no version', VECTOR['webhook-signature'].slice(3)],
		['the text of two joined headers', `${VECTOR['webhook-signature']}, ${VECTOR['webhook-signature']},`],
	])('%s is rejected', async (_, signature) => {
		const headers = { ...VECTOR, 'webhook-signature': signature }
		expect(await reasonOf({ headers, body: BODY }, SECRET, { runtime })).toBe('invalid-signature')
	})

	test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
		'a request without %s is rejected',
		async (name) => {
			const { [name as keyof typeof VECTOR]: _, ...headers } = VECTOR
			const error = await rejection({ headers, body: BODY }, SECRET, { runtime })
			expect(error).toMatchObject({ reason: 'missing-header', statusCode: 400 })
			expect(error.message).toContain(name)
		},
	)

	test.each(['', 'hello', '1614265330.5', '-1614265330', '0x10', '1e9', ' ', '9'.repeat(13)])(
		'the timestamp %j is rejected',
		async (timestamp) => {
			const headers = { ...VECTOR, 'webhook-timestamp': timestamp }
			expect(await reasonOf({ headers, body: BODY }, SECRET, { runtime })).toBe('invalid-header')
		},
	)

	test('an id with a full stop is rejected, because the parts of a signed text could be divided differently', async () => {
		const body = `1700000000.${BODY}`
		const headers = await signWebhook({ id: 'msg', timestamp: SIGNED_AT, body }, SECRET)
		const divided = {
			...headers,
			'webhook-id': `msg.${headers['webhook-timestamp']}`,
			'webhook-timestamp': '1700000000',
		}
		const later = { runtime: runtimeAt(1_700_000_000_000) }
		expect(await reasonOf({ headers: divided, body: BODY }, SECRET, later)).toBe('invalid-header')
	})
})

describe('clocks', () => {
	const at = (seconds: number, options = {}) =>
		verifyWebhook({ headers: VECTOR, body: BODY }, SECRET, {
			runtime: runtimeAt(SIGNED_AT.getTime() + seconds * 1_000),
			...options,
		})

	test.each([-300, -299, 0, 299, 300, 300.9])('a clock that differs by %d s is accepted', async (seconds) => {
		expect((await at(seconds)).id).toBe(VECTOR['webhook-id'])
	})

	test.each([
		[301, 'too-old', 'signed 301 s ago'],
		[86_400, 'too-old', 'signed 86400 s ago'],
		[-301, 'too-new', 'signed 301 s in the future'],
	])('a clock that differs by %d s is rejected', async (seconds, reason, message) => {
		await expect(at(seconds)).rejects.toMatchObject({
			reason,
			statusCode: 401,
			message: expect.stringContaining(message),
		})
		await expect(at(seconds)).rejects.toThrow('at most 300 s are allowed')
	})

	test('the tolerance is an option', async () => {
		expect((await at(301, { toleranceMs: 301_000 })).id).toBe(VECTOR['webhook-id'])
		await expect(at(2, { toleranceMs: 1_999 })).rejects.toMatchObject({ reason: 'too-old' })
		await expect(at(0, { toleranceMs: -1 })).rejects.toMatchObject({ optionPath: 'toleranceMs' })
	})

	test('a webhook is signed with the time of the system', async () => {
		const headers = await signWebhook({ id: 'msg_1', body: BODY }, SECRET)
		expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000)).toBeLessThan(60)
	})
})

describe('the JavaScript library of the specification', () => {
	const bodies = [BODY, '', '{"name":"Žofie 🙂"}', 'x'.repeat(100_000)]

	test.each(bodies.map((body) => [body.slice(0, 30), body]))(
		'accepts what signWebhook signs: %j',
		async (_, body) => {
			const secret = createWebhookSecret()
			const headers = await signWebhook({ id: 'msg_1', body }, [createWebhookSecret(), secret])
			const accepted = () => new Webhook(secret).verify(body, { ...headers })
			if (body.startsWith('x')) expect(accepted).toThrow(SyntaxError)
			else expect(accepted()).toEqual(body === '' ? undefined : JSON.parse(body))
		},
	)

	test.each(bodies.map((body) => [body.slice(0, 30), body]))(
		'signs what verifyWebhook accepts: %j',
		async (_, body) => {
			const secret = createWebhookSecret()
			const now = new Date()
			const headers = {
				'webhook-id': 'msg_1',
				'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
				'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
			}
			const webhook = await verifyWebhook({ headers, body }, [OTHER_SECRET, secret])
			expect(new TextDecoder().decode(webhook.body)).toBe(body)
		},
	)
})

describe('ed25519', () => {
	// RFC 8032, section 7.1, TEST 1 and TEST 3.
	const vectors = [
		[
			'9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
			'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
			'',
			'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
		],
		[
			'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
			'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
			'af82',
			'6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
		],
	] as const

	test.each(vectors)('the seed %s signs as in RFC 8032', async (seed, publicKey, message, signature) => {
		const base64 = Buffer.from(signature, 'hex').toString('base64')
		const bytes = Buffer.from(message, 'hex')
		expect(await ed25519Signer(Buffer.from(seed, 'hex'))('', bytes)).toBe(base64)
		const verified = ed25519Verifier(Uint8Array.from(Buffer.from(publicKey, 'hex')))
		expect(await verified(base64, '', bytes)).toBe(true)
		expect(await verified(base64, 'x', bytes)).toBe(false)
		expect(await verified('not base64', '', bytes)).toBe(false)
		expect(await verified('AAAA', '', bytes)).toBe(false)
	})

	/** What another implementation does with the bytes of a key. */
	const derOf = (key: string, head: string) =>
		Buffer.concat([Buffer.from(head, 'hex'), Buffer.from(key.slice(5), 'base64').subarray(0, 32)])

	test('node:crypto verifies what is signed, and signs what is verified', async () => {
		const { privateKey, publicKey } = await createWebhookKeyPair()
		const request = await plainRequest(BODY, privateKey)
		const { 'webhook-timestamp': time, 'webhook-signature': list = '' } = request.headers
		const text = Buffer.from(`msg_1.${time}.${BODY}`)
		const nodePublic = createPublicKey({
			key: derOf(publicKey, '302a300506032b6570032100'),
			format: 'der',
			type: 'spki',
		})
		expect(list.startsWith('v1a,')).toBe(true)
		expect(verify(null, text, nodePublic, Buffer.from(list.slice(4), 'base64'))).toBe(true)
		const nodePrivate = createPrivateKey({
			key: derOf(privateKey, '302e020100300506032b657004220420'),
			format: 'der',
			type: 'pkcs8',
		})
		const signature = `v1a,${sign(null, text, nodePrivate).toString('base64')}`
		const headers = { ...request.headers, 'webhook-signature': signature }
		expect((await verifyWebhook({ headers, body: BODY }, publicKey)).id).toBe('msg_1')
	})

	test('a private key is the seed, with or without the public key after it', async () => {
		const { privateKey, publicKey } = await createWebhookKeyPair()
		const both = Buffer.from(privateKey.slice(5), 'base64')
		expect(both.length).toBe(64)
		expect(`whpk_${both.subarray(32).toString('base64')}`).toBe(publicKey)
		const seed = `whsk_${both.subarray(0, 32).toString('base64')}`
		expect((await verifyWebhook(await signedRequest(BODY, seed), publicKey)).id).toBe('msg_1')
	})

	test('receivers with a secret and receivers with a public key accept the same webhook', async () => {
		const [first, second] = [await createWebhookKeyPair(), await createWebhookKeyPair()]
		const secrets = [SECRET, first.privateKey]
		for (const secret of [SECRET, first.publicKey, [OTHER_SECRET, second.publicKey, first.publicKey]])
			expect((await verifyWebhook(await signedRequest(BODY, secrets), secret)).id).toBe('msg_1')
		for (const secret of [OTHER_SECRET, second.publicKey, [OTHER_SECRET, second.publicKey]])
			expect(await reasonOf(await signedRequest(BODY, secrets), secret)).toBe('invalid-signature')
	})
})
