/**
 * The two halves behind the page: what this process knows of its policies, and what the database knows of messages.
 * The server asks both, checks who may do what, and writes the answers as JSON.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import type { RedactField } from '../telemetry/redact/redactor.ts'
import type {
	Action,
	ActionPlan,
	ActionResult,
	AuditPage,
	DeadGroups,
	EndpointsPage,
	FailedCalls,
	MessagesPage,
	MessageView,
	Overview,
	Problem,
} from './contract.ts'

/** The query of a request, as it came. The part checks it, and throws an `InvalidArgumentError` or `InvalidOptionError` that names the parameter. */
export type Query = Readonly<Record<string, string | undefined>>

/** Who acts, and why is in the action. */
export interface Actor {
	readonly by: string
}

type ActionOf<Name extends Action['action']> = Extract<Action, { readonly action: Name }>

export type CircuitAction = ActionOf<'isolate' | 'release' | 'reset'>
export type QueueAction = Exclude<Action, CircuitAction>

/** Circuits, retries, limits and failed calls of this process. Costs nothing per call that succeeds at its first attempt. */
export interface LivePart {
	overview(): Pick<Overview, 'circuits' | 'retries' | 'limits' | 'failedCalls'> & {
		readonly problems: readonly Problem[]
	}
	calls(query: Query): FailedCalls
	run(action: CircuitAction, actor: Actor): ActionResult
	/** Stops to observe, and releases what it has isolated. */
	close(): void
}

/** Outboxes, inboxes, webhooks and idempotency engines, mostly read from their databases. */
export interface QueuePart {
	/** Never rejects: what cannot be read is a problem of the kind `unreadable`. Concurrent calls share one read. */
	overview(): Promise<
		Pick<Overview, 'outboxes' | 'idempotency' | 'inboxes' | 'webhooks' | 'jobs'> & {
			readonly problems: readonly Problem[]
		}
	>
	messages(query: Query): Promise<MessagesPage>
	/** Undefined if there is none. */
	message(query: Query): Promise<MessageView | undefined>
	dead(query: Query): Promise<DeadGroups>
	audit(query: Query): Promise<AuditPage>
	endpoints(query: Query): Promise<EndpointsPage>
	plan(action: QueueAction): Promise<ActionPlan>
	run(action: QueueAction, actor: Actor): Promise<ActionResult>
	/** Cancels jobs, and waits until they have ended. */
	close(): Promise<void>
}

/** What `dashboard` passes to both halves, with the things of `observe`. Options are checked, and defaults filled in. */
export interface PartSettings {
	readonly runtime: Runtime
	/** Hides secrets as in logs, and then calls the option `redact`. Never throws. */
	readonly redact: RedactField
	/** This process. */
	readonly host: string
	readonly pid: number
	readonly payloads: 'shown' | 'hidden'
	readonly maxFailedCalls: number
}
