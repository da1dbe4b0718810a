/**
 * Learns when the body of a `Response` has been read, so that the time for it ends then and not before. The response itself is
 * given out, with another prototype in front of its own: a wrapper would not be a `Response` to other libraries, a stream around
 * the body would cost as much as the request, and methods put on each response cost more than a prototype that all share.
 */
import type { BodyFollower, HttpResponse } from '../transport/transport.ts'

/** Where a response's follower is kept is the business of who watches it. */
type FollowerOf = (response: object) => BodyFollower | undefined

const READERS = ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const
const STREAMS = ['clone'] as const

/** By the prototype of the responses: those of undici are another class than those of the runtime. */
const prototypes = new WeakMap<object, object>()
let latest: object | undefined
let latestWatched: object | undefined

/** Tells the follower of this response, found by `followerOf`, when its body was read or taken. */
export function watch(response: HttpResponse, followerOf: FollowerOf): void {
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
	const define = (name: string, descriptor: PropertyDescriptor) =>
		Object.defineProperty(made, name, { configurable: true, enumerable: false, ...descriptor })
	for (const name of READERS) {
		const read: unknown = Reflect.get(prototype, name)
		if (typeof read !== 'function') continue
		define(name, {
			writable: true,
			value(this: object) {
				return followed(followerOf(this), Reflect.apply(read, this, []))
			},
		})
	}
	for (const name of STREAMS) {
		const take: unknown = Reflect.get(prototype, name)
		if (typeof take !== 'function') continue
		define(name, {
			writable: true,
			value(this: object) {
				followerOf(this)?.handedOver()
				return Reflect.apply(take, this, [])
			},
		})
	}
	define('body', {
		get(this: object) {
			followerOf(this)?.handedOver()
			return Reflect.get(prototype, 'body', this)
		},
	})
	return made
}

async function followed(follower: BodyFollower | undefined, reading: Promise<unknown>): Promise<unknown> {
	try {
		const read = await reading
		follower?.ended()
		return read
	} catch (error) {
		throw follower ? follower.ended(error) : error
	}
}
