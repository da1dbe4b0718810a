/** Replays and other bulk actions of this process, with progress. */
import type { JSX } from 'preact'
import type { ActionResult, JobView } from '../../src/dashboard/contract.ts'
import { useShared } from '../context.ts'
import { post } from '../data/api.ts'
import { Badge, errorText, Outside, Section, Time, type Tone } from './bits.tsx'

const TONES: Readonly<Record<JobView['state'], Tone>> = {
	canary: 'warn',
	running: 'warn',
	done: 'good',
	cancelled: 'calm',
	failed: 'bad',
}

export function Jobs(): JSX.Element | null {
	const { t, overview } = useShared()
	if (overview.jobs.length === 0) return null
	return (
		<Section title={t.jobs}>
			<ul class="jobs">
				{overview.jobs.map((job) => (
					<Job key={job.id} job={job} />
				))}
			</ul>
		</Section>
	)
}

function Job({ job }: { job: JobView }): JSX.Element {
	const { t, mayAct, say, refresh } = useShared()
	const name = job.action === 'cancel-job' ? t.cancel : t.buttons[job.action]
	const isRunning = job.state === 'canary' || job.state === 'running'
	const progress = t.progress(
		t.words.count({ count: job.changed, isCapped: false }),
		t.words.count(job.total),
	)
	const cancel = async (): Promise<void> => {
		try {
			await post<ActionResult>('action', { action: 'cancel-job', source: job.source, id: job.id })
			say(`${name}: ${t.words.jobStates.cancelled}`)
		} catch (error) {
			say(errorText(t, error))
		}
		refresh()
	}
	return (
		<li data-row="" tabIndex={-1}>
			<span>
				<b>{name}</b> <Outside text={job.source} />{' '}
				<Badge tone={TONES[job.state]}>{t.words.jobStates[job.state]}</Badge>
			</span>
			<progress value={job.changed} max={Math.max(1, job.total.count)} aria-label={`${name}: ${progress}`} />
			<span>{progress}</span>
			<span class="muted">
				<Outside text={job.by} />, <Time at={job.startedAt} />
			</span>
			{isRunning && mayAct && (
				<button type="button" class="small" onClick={() => void cancel()}>
					{t.cancel}
				</button>
			)}
			{job.error && <Outside text={job.error} />}
		</li>
	)
}
