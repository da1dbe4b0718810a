import { invalidArgument, isObject } from '../../core/options/schema.ts'

/**
 * Throws for what is not an engine, such as its options: each request would fail instead. By shape, because a
 * program may have two copies of the package.
 */
export function checkEngine(engine: unknown): void {
	if (!isObject(engine) || !('settings' in engine) || !('begin' in engine))
		invalidArgument('engine', engine, 'an engine, the result of idempotency({ store, principal })')
}
