import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { FailedCall, FailedCalls } from '../../src/dashboard/contract.ts'
import { formatNumber } from '../../src/text/format.ts'
import { sanitizeText } from '../../src/text/sanitize.ts'
import { useFilter, useShared } from '../context.ts'
import { usePages } from '../data/use-pages.ts'
import { Badge, Failed, Outside, Time, View } from '../parts/bits.tsx'
import { Choice, FilterField } from '../parts/fields.tsx'
import { More } from '../parts/more.tsx'
import { Table } from '../parts/table.tsx'
import { toQuery } from '../state/url.ts'

export function Calls(): JSX.Element {
	const { t, overview, version, narrow } = useShared()
	const filter = useFilter()
	const facts = useRef<FailedCalls>(undefined)
	const list = `${toQuery(filter)} ${version}`
	// New calls do not replace older ones that the user has asked for, until another list is read.
	const [frozen, freeze] = useState<{ readonly list: string; readonly failedCalls: number }>()
	const pages = usePages<FailedCalls, FailedCall>(
		`calls${toQuery(filter)}`,
		'before',
		(body) => {
			facts.current = body
			const last = body.calls.at(-1)
			return { items: body.calls, next: body.hasMore && last ? String(last.number) : null }
		},
		`${version} ${frozen?.list === list ? frozen.failedCalls : overview.failedCalls}`,
	)
	const change = (changed: Readonly<Record<string, string>>): void => narrow({ ...filter, ...changed })
	const { failures = 0, rejections = 0 } = facts.current?.leftOut ?? {}
	const choices = (known: readonly string[], chosen: string | undefined): Record<string, string> =>
		Object.fromEntries([
			['', t.all],
			...[...new Set([...known, ...(chosen ? [chosen] : [])])].map((name) => [name, name]),
		])

	return (
		<View title={t.views.calls} note={t.callsNote}>
			<form class="fields" onSubmit={(event) => event.preventDefault()}>
				<Choice
					label={t.source}
					value={filter['source'] ?? ''}
					options={choices(facts.current?.sources ?? [], filter['source'])}
					onChange={(source) => change({ source })}
				/>
				<FilterField label={t.key} value={filter['key'] ?? ''} onInput={(key) => change({ key })} />
				<Choice
					label={t.reason}
					value={filter['reason'] ?? ''}
					options={choices(facts.current?.reasons ?? [], filter['reason'])}
					onChange={(reason) => change({ reason })}
				/>
			</form>
			<Failed error={pages.error} />
			<Table<FailedCall>
				caption={t.views.calls}
				rows={pages.items}
				rowKey={({ number }) => String(number)}
				empty={pages.isLoading ? t.loading : t.noCalls}
				columns={[
					{ head: t.time, cell: ({ at }) => <Time at={at} /> },
					{
						head: t.source,
						kind: 'main',
						cell: ({ source, policy, key, call, method }) => (
							<Outside
								text={[source, policy === source ? '' : policy, method ?? '', call ?? '', key ?? '']
									.filter((part) => part !== '')
									.join(' ')}
							/>
						),
					},
					{
						head: t.reason,
						cell: ({ outcome, reason }) => (
							<>
								<Badge tone={outcome === 'fallback' ? 'warn' : 'bad'}>{t.outcomes[outcome]}</Badge>{' '}
								<Outside text={reason} />
							</>
						),
					},
					{ head: t.attempts, kind: 'number', cell: ({ attempts }) => formatNumber(attempts) },
					{
						head: t.duration,
						kind: 'number',
						cell: ({ durationMs }) => (durationMs === null ? t.none : t.words.measured(durationMs)),
					},
					{ head: t.error, kind: 'wide', cell: (call) => <Explained call={call} /> },
				]}
			/>
			<More
				pages={{
					...pages,
					more: () => {
						freeze({ list, failedCalls: overview.failedCalls })
						pages.more()
					},
				}}
			/>
			{failures + rejections > 0 && (
				<p class="note">{t.leftOut(formatNumber(failures), formatNumber(rejections))}</p>
			)}
		</View>
	)
}

function Explained({ call }: { call: FailedCall }): JSX.Element {
	return (
		<details>
			<summary>
				<Outside text={call.error} />
			</summary>
			<pre>{sanitizeText(call.explanation.join('\n'))}</pre>
		</details>
	)
}
