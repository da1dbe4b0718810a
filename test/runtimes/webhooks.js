/** Webhooks on every runtime: hashes, keys and requests are the runtime's own. */
import { createWebhookKeyPair, createWebhookSecret, signWebhook, verifyWebhook } from 'yaoki/webhooks'
import { isTrue, SKIPPED, same } from './checks.js'

/** The vector of the specification's own libraries. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const BODY = '{"test": 2432232314}'
const SIGNED_AT = 1_614_265_330_000
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

const request = async (secrets, body = BODY) =>
	new Request('https://shop.example.com/webhooks', {
		method: 'POST',
		headers: await signWebhook({ id: 'msg_1', body }, secrets),
		body,
	})
const reasonOf = (...args) => verifyWebhook(...args).then(undefined, (error) => error.reason)

export const tests = {
	async 'signs a webhook with the same headers everywhere'() {
		const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
		const headers = await signWebhook({ id, timestamp: new Date(SIGNED_AT), body: BODY }, SECRET)
		same(headers['webhook-timestamp'], '1614265330')
		same(headers['webhook-signature'], SIGNATURE)
	},

	async 'verifies a webhook with a secret'() {
		const secret = createWebhookSecret()
		const body = new Uint8Array(100_000).map((_, at) => at)
		const webhook = await verifyWebhook(await request([secret, SECRET], body), secret)
		same(webhook.id, 'msg_1')
		same(webhook.body.join(), body.join())
		same(await reasonOf(await request(secret), createWebhookSecret()), 'invalid-signature')
		same(await reasonOf(await request(secret, body), secret, { maxBodyBytes: 99_999 }), 'body-too-large')
	},

	async 'verifies a webhook with a public key'() {
		const { privateKey, publicKey } = await createWebhookKeyPair()
		const webhook = await verifyWebhook(await request([privateKey, SECRET]), [SECRET, publicKey])
		same(webhook.json().test, 2_432_232_314)
		same((await verifyWebhook(await request(privateKey), publicKey)).id, 'msg_1')
		const other = await createWebhookKeyPair()
		same(await reasonOf(await request(privateKey), other.publicKey), 'invalid-signature')
	},

	async 'notices that the body of a webhook was used'() {
		const used = await request(SECRET)
		await used.text()
		same(await reasonOf(used, SECRET), 'body-used')
	},

	async 'receives a webhook over a socket (if the runtime has a server)'({ serve }) {
		if (!serve) return SKIPPED
		const server = serve(async (received) => {
			const { id, body } = await verifyWebhook(received, SECRET)
			return new Response(`${id} ${body.length}`)
		})
		try {
			const headers = await signWebhook({ id: 'msg_1', body: BODY }, SECRET)
			const response = await fetch(server.url, { method: 'POST', headers, body: BODY })
			isTrue(response.ok, `status ${response.status}`)
			same(await response.text(), `msg_1 ${BODY.length}`)
		} finally {
			await server.stop()
		}
	},
}
