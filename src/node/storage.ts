/**
 * The async context of calls. `node:async_hooks` is not imported, so that `yaoki/grpc`, whose calls inherit
 * this context, also loads where it does not exist: there the context is always empty.
 */
import type { CallOptions } from '../core/engine/call-options.ts'

/** The part of AsyncLocalStorage that is used. */
interface ContextStorage {
	getStore(): CallOptions | undefined
	run<T>(options: CallOptions, fn: () => T): T
}

/** Runs a function in the async context in which this function was created. */
type RunInContext = <T>(fn: () => T) => T

/** The async context in which this object was created, for all libraries. */
export interface AsyncScope {
	runInAsyncScope<T>(fn: () => T): T
}

interface AsyncHooks {
	readonly AsyncLocalStorage: new () => ContextStorage
	readonly AsyncResource: new (type: string) => AsyncScope
}

interface Global {
	readonly process?: { getBuiltinModule?(name: 'node:async_hooks'): AsyncHooks | undefined }
}

const hooks = (globalThis as Global).process?.getBuiltinModule?.('node:async_hooks')

export const storage: ContextStorage = hooks
	? new hooks.AsyncLocalStorage()
	: { getStore: () => undefined, run: (_, fn) => fn() }

/** Captures the async context. An AsyncResource takes 80 bytes, `AsyncLocalStorage.snapshot` 2,400. */
export const captureScope = (): AsyncScope | undefined => hooks && new hooks.AsyncResource('yaoki')

/**
 * Returns a function that runs others in the current async context: for events of a connection, which arrive
 * in the context of the connection.
 */
export function captureContext(): RunInContext {
	const scope = captureScope()
	return (fn) => (scope ? scope.runInAsyncScope(fn) : fn())
}
