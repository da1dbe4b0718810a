/** The error of a webhook URL that must not be called. */
import { permanent } from '../../../core/classify/permanent.ts'
import { YaokiError } from '../../../core/errors/errors.ts'
import type { AddressRange } from './address-rules.ts'

/**
 * The part of the URL that is not permitted. `syntax`: it is no absolute URL. `address`: the address in the
 * URL, or one of the addresses that its host resolves to, is not public.
 */
export type WebhookUrlReason = 'syntax' | 'scheme' | 'credentials' | 'port' | 'host' | 'address'

/**
 * A webhook URL is not permitted. Creating an endpoint rejects with it. A delivery fails with it permanently:
 * another attempt would call the same URL. Correct the URL, or add its host to the option `allow`.
 *
 * An endpoint belongs to a customer, who may see this error. Its message has no address that a host resolved
 * to, because that would let customers read your internal DNS; the address is in `address`.
 */
export class WebhookUrlError extends YaokiError {
	override readonly name = 'WebhookUrlError'
	readonly reason: WebhookUrlReason
	/** The URL without credentials and query. */
	readonly url: string
	/** The address that is not public, if `reason` is `address`. */
	readonly address: string | undefined

	constructor(
		reason: WebhookUrlReason,
		url: string,
		expected: string,
		rejected?: { readonly address: string; readonly range: AddressRange },
	) {
		super('YAOKI_WEBHOOK_URL', `Invalid webhook URL '${url}': expected ${expected}`)
		this.reason = reason
		this.url = url
		this.address = rejected?.address
		permanent(this)
	}
}
