/**
 * Learns when the body of a `Response` has been read, so that the time for it ends then and not before. The response itself is
 * given out, with another prototype in front of its own: a wrapper would not be a `Response` to other libraries, a stream around
 * the body would cost as much as the request, and methods put on each response cost more than a prototype that all share.
 */
import type { BodyObserver, HttpResponse } from '../transport/transport.ts'

/** Where a response's follower is kept is the business of who watches it. */
type FollowerOf = (response: object) => BodyObserver | undefined

const READERS = ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const

/** By the prototype of the responses: those of undici are another class than those of the runtime. */
const prototypes = new WeakMap<object, object>()
let latest: object | undefined
let latestWatched: object | undefined

/** Tells the follower of this response, found by `followerOf`, when its body was read or cloned. */
export function trackBody(response: HttpResponse, followerOf: FollowerOf): void {
	const prototype: object = Object.getPrototypeOf(response)
	if (prototype !== latest) {
		latestWatched = prototypes.get(prototype) ?? watched(prototype, followerOf)
		prototypes.set(prototype, latestWatched)
		latest = prototype
	}
	Object.setPrototypeOf(response, latestWatched as object)
}

function watched(prototype: object, followerOf: FollowerOf): object {
	const made: object = Object.create(prototype)
	const wrap = (name: string, call: (follower: BodyObserver | undefined, own: () => unknown) => unknown) => {
		const own: unknown = Reflect.get(prototype, name)
		if (typeof own !== 'function') return
		Object.defineProperty(made, name, {
			configurable: true,
			writable: true,
			value(this: object) {
				return call(followerOf(this), () => Reflect.apply(own, this, []))
			},
		})
	}
	for (const name of READERS) wrap(name, followed)
	wrap('clone', (follower, clone) => {
		follower?.handedOver()
		return clone()
	})
	return made
}

async function followed(follower: BodyObserver | undefined, read: () => unknown): Promise<unknown> {
	follower?.began()
	try {
		const value = await read()
		follower?.ended()
		return value
	} catch (error) {
		throw follower ? follower.ended(error) : error
	}
}
