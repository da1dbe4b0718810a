import type { JSX } from 'preact'
import { useShared } from '../context.ts'
import { Outside, Time } from '../parts/bits.tsx'
import { Jobs } from '../parts/jobs.tsx'
import { Circuits } from './circuits.tsx'
import { Limits } from './limits.tsx'
import { OtherSections } from './others.tsx'
import { OutboxSection } from './outbox.tsx'
import { Retries } from './retries.tsx'

export function OverviewPage(): JSX.Element {
	const { t, overview } = useShared()
	return (
		<>
			<h1 class="hidden" tabIndex={-1}>
				{t.views.overview}
			</h1>
			<Jobs />
			{overview.circuits.length > 0 && <Circuits />}
			{overview.retries.length > 0 && <Retries />}
			{overview.limits.length > 0 && <Limits />}
			{overview.outboxes.map((outbox) => (
				<OutboxSection key={outbox.source} outbox={outbox} />
			))}
			<OtherSections />
			<Processes />
		</>
	)
}

/** Whose figures these are: those of policies are in the memory of one process. */
function Processes(): JSX.Element {
	const { t, overview } = useShared()
	const { host, pid, startedAt } = overview.process
	const relays = overview.outboxes.flatMap((outbox) =>
		outbox.relays.filter(({ isThisProcess }) => !isThisProcess),
	)
	return (
		<footer class="note">
			<p>
				{overview.isDatabaseOnly
					? t.databaseOnly
					: t.processNote(t.words.processLine(host, pid), t.words.ago(Math.max(0, overview.at - startedAt)))}
				{overview.access === 'read' && ` ${t.readOnly}`}
			</p>
			{relays.length > 0 && (
				<p>
					{t.otherRelays}{' '}
					{relays.map((relay, index) => (
						<span key={relay.id}>
							{index > 0 && ', '}
							<Outside text={relay.id} /> ({t.words.processLine(relay.host, relay.pid)},{' '}
							<Time at={relay.seenAt} />)
						</span>
					))}
				</p>
			)}
		</footer>
	)
}
