/**
 * What a handler adds to the record of its attempt. It exists only if the destination has an attempt log. A
 * handler cannot fail because of it: what is not valid is ignored.
 */
import { isStatus, truncate } from '../message/stored-error.ts'
import type { DeliveryContext } from './destination.ts'

type Recorder = NonNullable<DeliveryContext['attemptLog']>

export class AttemptRecorder implements Recorder {
	readonly maxResponseChars: number
	statusCode: number | undefined
	response: string | undefined
	/** True once the receiver has accepted the message, while its handler still reads the response. */
	isAccepted = false

	constructor(maxResponseChars: number) {
		this.maxResponseChars = maxResponseChars
	}

	readonly record: Recorder['record'] = (facts) => {
		const { statusCode, response } = Object(facts) as Partial<Record<keyof typeof facts, unknown>>
		if (isStatus(statusCode)) this.statusCode = statusCode
		// Cut immediately: a handler may pass on megabytes, and a thousand attempts are in flight.
		if (typeof response === 'string') this.response = truncate(response, this.maxResponseChars)
	}
}
