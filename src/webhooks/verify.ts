import { isObject } from '../core/options/schema.ts'
import { ed25519Verifier } from './ed25519.ts'
import { type VerificationReason, WebhookVerificationError } from './errors.ts'
import { createHmac, equalInConstantTime } from './hmac.ts'
import { readVerifyOptions, type VerifyWebhookOptions } from './options.ts'
import { type HeaderReader, readBody, readHeaders, type WebhookRequest } from './request.ts'
import { SCHEMES, type Scheme, type SignedHeaders } from './schemes.ts'
import { readSecrets, type VerificationKey } from './secrets.ts'

/** A webhook whose signature is valid. `verifyWebhook` returns it. */
export interface VerifiedWebhook {
	/**
	 * Identifies the event: the same in every attempt to send it. From Stripe it is `id` of the body. From GitHub
	 * it is `X-GitHub-Delivery`, which is not signed.
	 */
	readonly id: string
	/** When the attempt was signed. GitHub signs no time: then it is when the webhook was verified. */
	readonly timestamp: Date
	/** The body, byte for byte. */
	readonly body: Uint8Array
	/**
	 * Returns the body as JSON. Throws a `WebhookVerificationError` with the reason `invalid-body` if it is not
	 * JSON.
	 */
	json(): unknown
}

/**
 * Verifies the signature and the time of a webhook and returns its id and body. Rejects with a
 * `WebhookVerificationError`; respond with its `statusCode`. Pass several secrets while one is replaced: one
 * of them must match. Secrets are `whsec_…`, public keys `whpk_…`; those of Stripe and GitHub are taken as
 * they are. The body must not have been parsed before.
 *
 * @example
 * async function handler(request: Request): Promise<Response> {
 *   const webhook = await verifyWebhook(request, process.env['WEBHOOK_SECRET'] ?? '')
 *   console.log(webhook.id, webhook.json())
 *   return new Response(null, { status: 204 })
 * }
 */
export async function verifyWebhook(
	request: WebhookRequest,
	secrets: string | readonly string[],
	options: VerifyWebhookOptions = {},
): Promise<VerifiedWebhook> {
	const { scheme: name, toleranceMs, maxBodyBytes, runtime } = readVerifyOptions(options)
	const scheme = SCHEMES[name]
	const keys = readSecrets(secrets, scheme.readKey)
	const header = readHeaders(request)
	const signed = readSigned(header, scheme)
	const nowMs = runtime.wallNow()
	if (signed.timestamp !== undefined) checkTime(signed.timestamp, nowMs, toleranceMs)
	const body = await readBody(request, header, maxBodyBytes)
	await checkSignatures(keys, signed, body, scheme)
	const json = () => parseJson(body)
	return {
		id: signed.id ?? idOf(json()),
		timestamp: new Date(signed.timestamp === undefined ? nowMs : signed.timestamp * 1_000),
		body,
		json,
	}
}

const fail = (reason: VerificationReason, message: string, cause?: unknown): never => {
	throw new WebhookVerificationError(reason, message, cause === undefined ? undefined : { cause })
}

function readSigned(header: HeaderReader, scheme: Scheme): SignedHeaders {
	const values = scheme.headers.map((name) => header(name) ?? missing(name, header, scheme))
	return (
		scheme.read(...values) ??
		fail(
			'invalid-header',
			`These headers do not have the form of ${scheme.provider}: ${scheme.headers.join(', ')}`,
		)
	)
}

/** A request of another provider is an easy mistake. */
function missing(name: string, header: HeaderReader, scheme: Scheme): never {
	const other = Object.entries(SCHEMES).find(
		([, { headers }]) => headers !== scheme.headers && header(headers[0]) !== undefined,
	)
	const hint = other
		? `. It looks like a webhook of ${other[1].provider}: pass { scheme: '${other[0]}' }`
		: ''
	return fail('missing-header', `The header ${name} is missing${hint}`)
}

/** Senders cut fractions of a second off, so the own clock is cut too. */
function checkTime(timestamp: number, nowMs: number, toleranceMs: number): void {
	const age = Math.floor(nowMs / 1_000) - timestamp
	if (Math.abs(age) * 1_000 <= toleranceMs) return
	const allowed = `and at most ${toleranceMs / 1_000} s are allowed (toleranceMs)`
	if (age > 0)
		fail(
			'too-old',
			`The webhook was signed ${age} s ago by the clock of this server, ${allowed}. Check both clocks; otherwise an old request was repeated`,
		)
	fail(
		'too-new',
		`The webhook was signed ${-age} s in the future by the clock of this server, ${allowed}. Check both clocks`,
	)
}

/** The longest list that a sender needs while it replaces secrets. Each costs a verification with each public key. */
const MAX_SIGNATURES = 20

/** Every signature is compared with every secret, so that the time does not say which secret matched. */
async function checkSignatures(
	keys: readonly VerificationKey[],
	{ head, signatures }: SignedHeaders,
	body: Uint8Array,
	{ encoding, provider }: Scheme,
): Promise<void> {
	if (signatures.length > MAX_SIGNATURES)
		fail(
			'invalid-header',
			`The webhook has ${signatures.length} signatures; at most ${MAX_SIGNATURES} are checked`,
		)
	const versions = (version: string) => signatures.filter((each) => each.version === version)
	let isValid = false
	for (const { type, bytes } of keys) {
		if (type === 'shared') {
			const expected = await createHmac(bytes)(head, body, encoding)
			for (const { text } of versions('v1')) isValid = equalInConstantTime(text, expected) || isValid
		} else {
			const verify = ed25519Verifier(bytes)
			for (const { text } of versions('v1a')) isValid = (await verify(text, head, body)) || isValid
		}
	}
	if (!isValid)
		fail(
			'invalid-signature',
			`No signature matches. Check that the secret is that of this endpoint and of this sender (${provider}), and that the body is passed byte for byte`,
		)
}

function parseJson(body: Uint8Array): unknown {
	try {
		return JSON.parse(new TextDecoder().decode(body))
	} catch (cause) {
		return fail('invalid-body', 'The body is not JSON', cause)
	}
}

function idOf(body: unknown): string {
	const id: unknown = isObject(body) ? Reflect.get(body, 'id') : undefined
	return typeof id === 'string' && id !== '' ? id : fail('invalid-body', 'The body has no id')
}
