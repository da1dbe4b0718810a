/** The form of the search. The URL holds what is searched; the form holds what the user is typing. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useFilter, useShared } from '../context.ts'
import { Choice, Field } from '../parts/fields.tsx'
import { fromLocalInput, readTime, toLocalInput } from '../state/time.ts'
import { ChooseSource, useOutbox } from './choose-source.tsx'

export function SearchForm(): JSX.Element {
	const { t, overview, go } = useShared()
	const filter = useFilter()
	const { names, outbox } = useOutbox()
	const [typed, setTyped] = useState<Readonly<Record<string, string>>>(filter)
	const set = (name: string) => (value: string) => setTyped((before) => ({ ...before, [name]: value.trim() }))
	const setTime = (name: string) => (value: string) =>
		setTyped((before) => ({ ...before, [name]: String(fromLocalInput(value) ?? '') }))
	const timeOf = (name: string): string => {
		const ms = readTime(typed[name])
		return ms === undefined ? '' : toLocalInput(ms)
	}
	const destinations = overview.outboxes.find(({ source }) => source === outbox)?.destinations ?? []
	// No list has discarded messages. They are found by their id.
	const { discarded: _, ...statuses } = t.words.statuses
	const isScanOpen = ['topic', 'text', 'path'].some((name) => filter[name] !== undefined)
	return (
		<search>
			<form
				class="search"
				onSubmit={(event) => {
					event.preventDefault()
					go('messages', { ...typed, outbox })
				}}
			>
				<fieldset class="fields">
					<legend>{t.indexed}</legend>
					<ChooseSource
						label={t.outbox}
						names={names}
						value={outbox}
						onChange={(name) => go('messages', { ...typed, outbox: name })}
					/>
					<Field label={t.id} type="search" value={typed['id'] ?? ''} onInput={set('id')} isSearch />
					<Field
						label={t.destination}
						value={typed['destination'] ?? ''}
						options={destinations.map(({ destination }) => destination)}
						onInput={set('destination')}
					/>
					<Field label={t.key} value={typed['key'] ?? ''} onInput={set('key')} />
					<Choice
						label={t.status}
						value={typed['status'] ?? ''}
						options={{ '': t.all, ...statuses }}
						onChange={set('status')}
					/>
					<Field label={t.cause} value={typed['cause'] ?? ''} onInput={set('cause')} />
					<Field label={t.from} type="datetime-local" value={timeOf('from')} onInput={setTime('from')} />
					<Field label={t.until} type="datetime-local" value={timeOf('until')} onInput={setTime('until')} />
				</fieldset>
				<details open={isScanOpen}>
					<summary>{t.scan}</summary>
					<div class="fields">
						<Field label={t.topic} value={typed['topic'] ?? ''} onInput={set('topic')} />
						<Field label={t.errorText} value={typed['text'] ?? ''} onInput={set('text')} />
						<Field
							label={t.payloadPath}
							value={typed['path'] ?? ''}
							onInput={set('path')}
							help="customer.id"
						/>
						<Field label={t.payloadValue} value={typed['value'] ?? ''} onInput={set('value')} />
					</div>
					<p class="note">{t.scanNote}</p>
				</details>
				<div class="buttons">
					<button type="submit" class="main">
						{t.search}
					</button>
					<button type="button" onClick={() => go('messages', { outbox: filter['outbox'] })}>
						{t.clear}
					</button>
				</div>
			</form>
		</search>
	)
}
