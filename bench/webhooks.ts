/**
 * Signatures of webhooks: how many a sender can make, in the forms that were considered and with the specification's own library. The CPU time counts, so that
 * other programs on the machine do not.
 */
import { createHmac, createSecretKey, hash, randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { createWebhookSecret } from 'yaoki/webhooks'
// Relays sign with these. No entry exports them.
import { webHmac } from '../src/webhooks/hmac.ts'
import { createSigner } from '../src/webhooks/signer.ts'
import { column, type Report } from './figure.ts'
import { median, nextLoop } from './harness.ts'

const ROUNDS = 15
const SIGNATURES = 10_000
const ASKED = 100_000

const BODY = randomBytes(512).toString('hex')
const BYTES = Buffer.from(BODY)
const ID = 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'
const TIME = 1_674_087_231
const HEAD = `${ID}.${TIME}.`

type Sign = () => string | Promise<string>

/** HMAC of two one-shot hashes. The blocks that start them depend on the secret only. */
function oneShot(key: Uint8Array): Sign {
	const blockOf = (pad: number) => Buffer.alloc(64, pad).map((byte, at) => byte ^ (key[at] ?? 0))
	const inner = Buffer.concat([blockOf(0x36), Buffer.alloc(HEAD.length + BYTES.length)])
	const outer = Buffer.concat([blockOf(0x5c), Buffer.alloc(32)])
	return () => {
		inner.write(HEAD, 64, 'latin1')
		inner.set(BYTES, 64 + HEAD.length)
		outer.write(hash('sha256', inner, 'latin1'), 64, 'latin1')
		return `v1,${hash('sha256', outer, 'base64')}`
	}
}

export async function webhooks(): Promise<Report> {
	const secret = createWebhookSecret()
	const key = Uint8Array.from(Buffer.from(secret.slice('whsec_'.length), 'base64'))
	const keyObject = createSecretKey(key)
	const sign = createSigner(secret)
	const web = webHmac(key)
	const library = new Webhook(secret)
	const signedAt = new Date(TIME * 1_000)
	const contenders: Readonly<Record<string, Sign>> = {
		'yaoki, as relays sign': () => sign(ID, TIME, BYTES),
		'createHmac with a key object': () =>
			`v1,${createHmac('sha256', keyObject).update(HEAD).update(BYTES).digest('base64')}`,
		'createHmac with the bytes of the secret': () =>
			`v1,${createHmac('sha256', key).update(HEAD).update(BYTES).digest('base64')}`,
		'two one-shot hashes, pads precomputed': oneShot(key),
		WebCrypto: async () => `v1,${await web(HEAD, BYTES, 'base64')}`,
		'standardwebhooks 1.1': () => library.sign(ID, signedAt, BODY),
	}
	const expected = library.sign(ID, signedAt, BODY)
	for (const [name, run] of Object.entries(contenders))
		if ((await run()) !== expected) throw new Error(`${name} gives another signature`)

	const rates = await measure(contenders)
	const ours = rates['yaoki, as relays sign'] ?? Number.NaN
	return {
		title: 'Signatures of webhooks: HMAC-SHA256 of bodies of 1 kB, a second of CPU time',
		lines: Object.entries(rates).map(([name, rate]) => column(name, perSecond(rate))),
		figures: [
			{
				figure: 'webhooks, HMAC signatures of 1 kB bodies on one core',
				asked: `at least ${perSecond(ASKED)}`,
				measured: perSecond(ours),
				reached: ours >= ASKED,
			},
		],
		data: rates,
	}
}

const perSecond = (rate: number): string => `${Math.round(rate).toLocaleString('en-US')}/s`

/** Runs the contenders in turns. Returns signatures for each second of CPU time. */
async function measure(contenders: Readonly<Record<string, Sign>>): Promise<Record<string, number>> {
	const rates = Object.fromEntries(Object.keys(contenders).map((name) => [name, [] as number[]]))
	for (let round = 0; round <= ROUNDS; round++) {
		for (const [name, sign] of Object.entries(contenders)) {
			await nextLoop()
			const before = process.cpuUsage()
			for (let left = SIGNATURES; left > 0; left--) {
				const signature = sign()
				if (typeof signature !== 'string') await signature
			}
			const { user, system } = process.cpuUsage(before)
			// The first round is warm-up.
			if (round > 0) rates[name]?.push((SIGNATURES * 1_000_000) / (user + system))
		}
	}
	return Object.fromEntries(Object.entries(rates).map(([name, each]) => [name, median(each)]))
}
