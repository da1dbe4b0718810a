/** Calls a handler. Whatever it is made of, a promise comes of it. */
import { permanent } from '../../core/classify/permanent.ts'
import type { Handler } from '../destinations/destination.ts'
import type { Message } from '../message/message.ts'
import { type Delivery, toMessage } from './delivery.ts'

/** A promise as it is; a thenable of another make, what is not async at all, and what is thrown becomes one. */
export function invokeHandler(deliver: Handler, delivery: Delivery): Promise<unknown> {
	try {
		const answer = deliver(messageOf(delivery), delivery.context())
		return answer instanceof Promise ? answer : Promise.resolve(answer)
	} catch (error) {
		return Promise.reject(error)
	}
}

function messageOf(delivery: Delivery): Message {
	try {
		return toMessage(delivery.row)
	} catch (error) {
		throw permanent(new Error('the stored message is not JSON', { cause: error }))
	}
}
