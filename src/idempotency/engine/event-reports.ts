/** Emits the events of an engine. */
import { errorFacts } from '../../core/events/error-facts.ts'
import { Emitter, type EventDetails } from '../../core/observe/emitter.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { IdempotencyIdentity } from '../key/identity.ts'
import type { BeginResult } from './claim.ts'
import type { IdempotencyEvent, StoreOperation } from './events.ts'
import { setupErrorPrinter } from './setup-errors.ts'

type WithoutRequest<Event> = Event extends unknown ? Omit<Event, 'method' | 'route'> : never

/** An event without the fields that are added here. */
type Details = WithoutRequest<EventDetails<IdempotencyEvent>>

export class EventReports {
	readonly emitter: Emitter<IdempotencyEvent>
	readonly #printSetupError: (error: unknown) => void

	constructor(name: string, runtime: Runtime) {
		this.emitter = new Emitter(name, runtime)
		this.#printSetupError = setupErrorPrinter(name)
	}

	begun(identity: IdempotencyIdentity, result: BeginResult): void {
		if (this.emitter.hasListeners) this.emit(identity, detailsOf(result))
	}

	storeError(identity: IdempotencyIdentity, operation: StoreOperation, error: unknown): void {
		this.#printSetupError(error)
		if (this.emitter.hasListeners)
			this.emit(identity, { type: 'idempotency_store_error', operation, ...errorFacts(error) })
	}

	emit({ method, route }: IdempotencyIdentity, details: Details): void {
		if (this.emitter.hasListeners) this.emitter.emit({ ...details, method, route })
	}
}

function detailsOf(result: BeginResult): Details {
	if (result.kind === 'run') return { type: 'idempotency_claimed', isRerun: result.claim.hasSteps }
	if (result.kind === 'replay') return { type: 'idempotency_replayed', statusCode: result.response.status }
	if (result.kind === 'conflict') return { type: 'idempotency_conflict', reason: result.reason }
	return { type: 'idempotency_mismatch' }
}
