import { YaokiError } from '../core/errors/errors.ts'

export type VerificationReason =
	| 'missing-header'
	| 'invalid-header'
	| 'too-old'
	| 'too-new'
	| 'invalid-signature'
	| 'body-too-large'
	| 'body-incomplete'
	| 'invalid-body'
	| 'body-parsed'
	| 'body-used'

/** What the receiver responds with. The last two are mistakes of the receiver itself. */
const STATUS: Readonly<Record<VerificationReason, number>> = {
	'missing-header': 400,
	'invalid-header': 400,
	'too-old': 401,
	'too-new': 401,
	'invalid-signature': 401,
	'body-too-large': 413,
	'body-incomplete': 400,
	'invalid-body': 400,
	'body-parsed': 500,
	'body-used': 500,
}

/**
 * `verifyWebhook` rejects with it: the request is not a webhook of this sender, or its body cannot be
 * verified. Respond with `statusCode`. With `body-parsed` and `body-used` the mistake is in the receiver: the
 * message says how to pass the bytes of the body.
 */
export class WebhookVerificationError extends YaokiError {
	override readonly name = 'WebhookVerificationError'
	/** `too-old` and `too-new` depend on the clocks of both sides, `body-parsed` and `body-used` on the receiver. */
	readonly reason: VerificationReason
	/** For frameworks that send an error with its status. */
	readonly statusCode: number
	readonly status: number

	constructor(reason: VerificationReason, message: string, options?: ErrorOptions) {
		super('YAOKI_WEBHOOK_VERIFICATION', message, options)
		this.reason = reason
		this.statusCode = STATUS[reason]
		this.status = this.statusCode
	}
}
