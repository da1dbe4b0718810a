/**
 * Detects when the body of a `Response` has been read, so that its timeout ends then. The response itself is returned, with another
 * prototype in front of its own: a wrapper would not be a `Response` to other libraries, a stream around the body would cost as
 * much as the request, and methods on each response cost more than a shared prototype.
 */
import type { BodyObserver, HttpResponse } from '../transport/transport.ts'

type FindObserver = (response: object) => BodyObserver | undefined

const READ_METHODS = ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const

/** By original prototype: responses of undici have another class than those of the runtime. */
const prototypes = new WeakMap<object, object>()
let latest: object | undefined
let latestTracked: object | undefined

/** Notifies the observer of this response, returned by `findObserver`, when its body is read or cloned. */
export function trackBody(response: HttpResponse, findObserver: FindObserver): void {
	const prototype: object = Object.getPrototypeOf(response)
	if (prototype !== latest) {
		latestTracked = prototypes.get(prototype) ?? trackedPrototype(prototype, findObserver)
		prototypes.set(prototype, latestTracked)
		latest = prototype
	}
	Object.setPrototypeOf(response, latestTracked as object)
}

function trackedPrototype(prototype: object, findObserver: FindObserver): object {
	const tracked: object = Object.create(prototype)
	const define = (name: string, create: (method: () => unknown) => (this: object) => unknown) => {
		const method: unknown = Reflect.get(prototype, name)
		if (typeof method !== 'function') return
		const value = create(method as () => unknown)
		Object.defineProperty(tracked, name, { configurable: true, writable: true, value })
	}
	for (const name of READ_METHODS) define(name, (read) => trackedRead(read, findObserver))
	const clone = (method: () => unknown) =>
		function (this: object) {
			findObserver(this)?.onHandOver()
			return method.call(this)
		}
	define('clone', clone)
	return tracked
}

/** One async function per method, because a closure per call would cost more memory. */
const trackedRead = (read: () => unknown, findObserver: FindObserver) =>
	async function (this: object): Promise<unknown> {
		const observer = findObserver(this)
		observer?.onReadStart()
		try {
			const value = await read.call(this)
			observer?.onEnd()
			return value
		} catch (error) {
			throw observer ? observer.onEnd(error) : error
		}
	}
