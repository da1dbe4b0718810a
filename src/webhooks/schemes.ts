/**
 * How providers sign: one row for each. A provider whose signature is not an HMAC-SHA256 or ed25519 of some
 * headers and the body does not fit, and needs code of its own.
 */
import type { DigestEncoding } from './hmac.ts'
import { readTextSecret, readVerificationKey, type VerificationKey } from './secrets.ts'
import { signedHead } from './signer.ts'
import { isWebhookId } from './webhook-id.ts'

interface Signature {
	readonly version: string
	readonly text: string
}

/** What the headers of a webhook say. */
export interface SignedHeaders {
	/** Undefined: it is `id` of the body. */
	readonly id: string | undefined
	/** Seconds since 1970; undefined if the provider signs no time. */
	readonly timestamp: number | undefined
	/** What is signed before the body. */
	readonly head: string
	readonly signatures: readonly Signature[]
}

export interface Scheme {
	/** Whose webhooks they are, for errors. */
	readonly provider: string
	/** The headers that it needs. `read` gets their values in this order. */
	readonly headers: readonly [string, ...string[]]
	readonly encoding: DigestEncoding
	readKey(path: string, secret: unknown): VerificationKey
	/** Returns undefined if a header has another form. */
	read(...values: readonly string[]): SignedHeaders | undefined
}

/** Digits only: the text of the header is what was signed, and `Number` reads many others. */
const TIMESTAMP = /^\d{1,12}$/

const standard: Scheme = {
	provider: 'Standard Webhooks',
	headers: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
	encoding: 'base64',
	readKey: readVerificationKey,
	read(id = '', timestamp = '', list = '') {
		if (!isWebhookId(id) || !TIMESTAMP.test(timestamp)) return undefined
		const signatures = list.split(' ').map((each) => split(each, ','))
		return { id, timestamp: Number(timestamp), head: signedHead(id, timestamp), signatures }
	},
}

const stripe: Scheme = {
	provider: 'Stripe',
	headers: ['stripe-signature'],
	encoding: 'hex',
	readKey: readTextSecret,
	read(list = '') {
		const parts = list.split(',').map((each) => split(each, '='))
		const time = parts.find(({ version }) => version === 't')?.text ?? ''
		if (!TIMESTAMP.test(time)) return undefined
		return { id: undefined, timestamp: Number(time), head: `${time}.`, signatures: parts }
	},
}

/** GitHub signs the body only: neither the time nor the id. */
const github: Scheme = {
	provider: 'GitHub',
	headers: ['x-hub-signature-256', 'x-github-delivery'],
	encoding: 'hex',
	readKey: readTextSecret,
	read(signature = '', id = '') {
		const { version, text } = split(signature, '=')
		if (version !== 'sha256' || !isWebhookId(id)) return undefined
		return { id, timestamp: undefined, head: '', signatures: [{ version: 'v1', text }] }
	},
}

/** Divides a text at the first separator. */
function split(text: string, separator: string): Signature {
	const at = text.indexOf(separator)
	return at < 0 ? { version: text, text: '' } : { version: text.slice(0, at), text: text.slice(at + 1) }
}

/**
 * The option `scheme` of `verifyWebhook`: who signed the webhook. `'standard'` is a sender that follows the
 * Standard Webhooks specification.
 */
export type WebhookScheme = 'standard' | 'stripe' | 'github'

export const SCHEMES: Readonly<Record<WebhookScheme, Scheme>> = { standard, stripe, github }
