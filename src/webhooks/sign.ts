import { withArgumentPath } from '../core/options/option-path.ts'
import { checkNames, invalidArgument, isObject, type OptionSchema } from '../core/options/schema.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import { toBytes } from './bytes.ts'
import { createSigner } from './signer.ts'
import { isWebhookId } from './webhook-id.ts'

/** What `signWebhook` signs. */
export interface WebhookContent {
	/**
	 * Identifies the event: the same in every attempt to send it. Visible ASCII characters without a full stop.
	 */
	readonly id: string
	/** When this attempt is made. Default: now. */
	readonly timestamp?: Date | undefined
	/** The body exactly as it is sent. A string is sent as UTF-8. */
	readonly body: string | Uint8Array
}

/** The headers of a signed webhook. `signWebhook` returns them. */
export type WebhookHeaders = {
	readonly 'webhook-id': string
	/** Seconds since 1970. */
	readonly 'webhook-timestamp': string
	/** One signature for each secret, with spaces between them. */
	readonly 'webhook-signature': string
}

const SCHEMA: OptionSchema = { id: 'any', timestamp: 'any', body: 'any' }

/**
 * Signs a webhook by the Standard Webhooks specification and returns its headers. A secret `whsec_…` gives an
 * HMAC-SHA256 signature, and a private key `whsk_…` an ed25519 signature. Several of them give several
 * signatures: while a secret is replaced, receivers accept the old one or the new one. Rejects with an
 * InvalidArgumentError for an invalid secret; the error does not contain it.
 *
 * @example
 * const body = JSON.stringify({ type: 'invoice.paid', data: { id: 'in_1' } })
 * const headers = await signWebhook({ id: 'msg_1', body }, createWebhookSecret())
 */
export async function signWebhook(
	content: WebhookContent,
	secrets: string | readonly string[],
): Promise<WebhookHeaders> {
	if (!isObject(content)) invalidArgument('content', content, 'an object with id and body')
	withArgumentPath('content', () => checkNames(content, SCHEMA))
	const sign = createSigner(secrets)
	const { id } = content
	if (typeof id !== 'string' || !isWebhookId(id))
		invalidArgument('content.id', id, 'visible ASCII characters without a full stop')
	const seconds = readSeconds(content.timestamp)
	const body = readBody(content.body)
	return {
		'webhook-id': id,
		'webhook-timestamp': String(seconds),
		'webhook-signature': await sign(id, seconds, body),
	}
}

function readSeconds(timestamp: unknown): number {
	if (timestamp === undefined) return Math.floor(systemRuntime.wallNow() / 1_000)
	const ms = timestamp instanceof Date ? timestamp.getTime() : Number.NaN
	return ms >= 0
		? Math.floor(ms / 1_000)
		: invalidArgument('content.timestamp', timestamp, 'a Date after 1970')
}

/** The error does not contain the body, which may be confidential. */
const readBody = (body: unknown): Uint8Array =>
	toBytes(body) ??
	invalidArgument(
		'content.body',
		body === undefined ? body : `a value of the type ${typeof body}`,
		'the string or Uint8Array that is sent: JSON.stringify an object once, and send that text',
	)
