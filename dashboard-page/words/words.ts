/** The texts of the page, in addition to the sentences that `yaoki top` shows too. A language that lacks one does not compile. */
import type { ActionName } from '../../src/dashboard/contract.ts'
import type { Words } from '../../src/dashboard/words/words.ts'
import type { Connection } from '../state/connection.ts'
import type { View } from '../state/url.ts'

type Button = Exclude<ActionName, 'cancel-job'>

/** Texts without parts that change. */
interface Labels {
	readonly title: string
	readonly skip: string
	readonly navigation: string
	readonly settings: string
	readonly language: string
	readonly theme: string
	readonly themes: Readonly<Record<'auto' | 'light' | 'dark', string>>
	readonly times: string
	readonly timeStyles: Readonly<Record<'relative' | 'absolute', string>>
	readonly shortcuts: string
	readonly refresh: string
	readonly help: string
	readonly views: Readonly<Record<View, string>>
	readonly connection: Readonly<Record<Connection, string>>
	readonly connectionHelp: Readonly<Record<Connection, string>>
	/** The heading of an error that a view has thrown while it was rendered. */
	readonly crashed: string
	readonly crashedHelp: string
	readonly tryAgain: string
	readonly reload: string
	readonly tokenRejected: string
	readonly readOnly: string
	readonly databaseOnly: string
	readonly loading: string
	readonly none: string
	readonly more: string
	readonly copy: string
	readonly copied: string
	readonly notCopied: string
	readonly close: string
	readonly cancel: string
	readonly all: string
	readonly problems: string
	readonly actionsColumn: string
	readonly showMessages: string
	readonly showCalls: string
	readonly showDead: string
	readonly showEndpoints: string
	readonly otherRelays: string
	// Overview
	readonly circuits: string
	readonly circuit: string
	readonly state: string
	readonly since: string
	readonly nextProbe: string
	readonly errorRate: string
	readonly rejected: string
	readonly lastError: string
	readonly retries: string
	readonly retriesNote: string
	readonly retryRate: string
	readonly successRate: string
	readonly meanRetries: string
	readonly failureRate: string
	readonly failures: string
	readonly limits: string
	readonly limit: string
	readonly kind: string
	readonly used: string
	readonly queued: string
	readonly available: string
	readonly rejectProbability: string
	readonly outbox: string
	readonly due: string
	readonly scheduled: string
	readonly inFlight: string
	readonly dead: string
	readonly lag: string
	readonly lagHelp: string
	readonly age: string
	readonly ageHelp: string
	readonly throughput: string
	readonly sentPerSecond: string
	readonly dueAndDead: string
	readonly forecast: string
	readonly forecastNote: string
	readonly destinations: string
	readonly destination: string
	readonly moreDestinations: string
	readonly failing: string
	/** The share of attempts of a destination that fail. */
	readonly failingShare: string
	readonly relays: string
	readonly relay: string
	readonly noRelays: string
	readonly process: string
	readonly thisProcess: string
	readonly alive: string
	readonly ended: string
	readonly sent: string
	readonly failed: string
	readonly seen: string
	readonly noHistory: string
	readonly idempotency: string
	readonly replays: string
	readonly conflicts: string
	readonly abandoned: string
	/** By the name of the engine's statistics. */
	readonly figures: Readonly<Record<string, string>>
	readonly inboxes: string
	readonly marks: string
	readonly expiredMarks: string
	readonly oldest: string
	readonly webhooks: string
	readonly enabled: string
	readonly disabled: string
	/** By the reason that the store has. */
	readonly disabledReasons: Readonly<Record<string, string>>
	// Calls
	readonly callsNote: string
	readonly noCalls: string
	readonly source: string
	readonly key: string
	readonly reason: string
	readonly attempts: string
	readonly duration: string
	readonly error: string
	readonly time: string
	readonly outcomes: Readonly<Record<'failure' | 'rejected' | 'fallback', string>>
	// Messages
	readonly search: string
	readonly clear: string
	readonly indexed: string
	readonly scan: string
	readonly scanNote: string
	readonly id: string
	readonly status: string
	readonly cause: string
	readonly topic: string
	readonly errorText: string
	readonly payloadPath: string
	readonly payloadValue: string
	readonly from: string
	readonly until: string
	readonly noMessages: string
	readonly notFound: string
	readonly stop: string
	readonly created: string
	readonly endedAt: string
	readonly message: string
	readonly back: string
	readonly timeline: string
	readonly noTimeline: string
	readonly lastAttempt: string
	readonly expires: string
	readonly dedupeKey: string
	readonly payload: string
	readonly payloadHidden: string
	readonly headers: string
	readonly audit: string
	readonly noAudit: string
	readonly attempt: string
	readonly outcome: string
	readonly response: string
	readonly selectRow: string
	// Dead letters
	readonly deadNote: string
	readonly noDead: string
	readonly count: string
	readonly first: string
	readonly last: string
	readonly example: string
	readonly replayAll: string
	readonly replaySince: string
	readonly discardAll: string
	readonly jobs: string
	// Webhooks
	readonly noEndpoints: string
	readonly endpoint: string
	readonly tenant: string
	readonly topics: string
	readonly allTopics: string
	readonly yes: string
	readonly no: string
	// Audit
	readonly by: string
	readonly action: string
	readonly details: string
	// Dialog of an action
	readonly planning: string
	readonly planDestinations: string
	readonly inMemory: string
	readonly command: string
	readonly reasonHelp: string
	readonly required: string
	readonly canary: string
	readonly perSecond: string
	readonly perSecondHelp: string
	readonly minutes: string
	readonly minutesHelp: string
	readonly fromHelp: string
	readonly final: string
	readonly buttons: Readonly<Record<Button, string>>
	/** What the action does, in one sentence. */
	readonly effects: Readonly<Record<Button, string>>
	readonly keys: Readonly<Record<'/' | 'j' | 'k' | 'Enter' | 'r' | '?' | 'Esc', string>>
}

export interface PageWords extends Labels {
	readonly words: Words
	processNote(process: string, started: string): string
	oldFigures(at: string, ago: string): string
	failuresOf(failures: string, calls: string): string
	ofLimit(used: string, limit: string): string
	leftOut(failures: string, rejections: string): string
	scanned(scanned: string, found: number): string
	found(found: number, isAll: boolean): string
	selected(count: number): string
	planned(messages: string): string
	waiting(destinations: string): string
	confirm(button: string, messages: string | undefined): string
	changed(button: string, count: number | null): string
	progress(changed: string, total: string): string
	/** Describes a chart for screen readers. */
	describeSeries(label: string, last: string, most: string): string
}
