/** The controls: made once from the table of settings, and kept up to date with what is set. */

import { make, setText } from './element.ts'
import { written } from './figures.ts'
import {
	type Choice,
	GROUPS,
	type GroupName,
	isUsed,
	KNOBS,
	type Knob,
	type KnobName,
	type Settings,
	type Slider,
} from './settings.ts'
import type { Words } from './words.ts'

/** The language that is spoken, and what is set. */
interface Shown {
	readonly settings: Settings
	readonly words: Words
}

/** Told what somebody has set. */
export type OnChange = (changes: Partial<Settings>) => void

/** Brings something up to date. */
export type Update = (shown: Shown) => void

/** A group of controls, put into `parent`. */
export function addGroup(parent: Element, group: GroupName, onChange: OnChange): Update {
	const legend = make('legend')
	const field = make('fieldset', {}, legend)
	parent.append(field)
	const updates = GROUPS[group].map((name) => addKnob(field, name, KNOBS[name], onChange))
	return (shown) => {
		field.hidden = !GROUPS[group].some((name) => isUsed(name, shown.settings))
		setText(legend, shown.words.groups[group])
		for (const update of updates) update(shown)
	}
}

type LabelledName = Exclude<KnobName, 'seed'>

function addKnob(parent: Element, name: LabelledName, knob: Knob, onChange: OnChange): Update {
	const id = `knob-${name}`
	const label = make('label', { for: id })
	const row = make('div', { class: `knob ${knob.kind}` }, label)
	parent.append(row)
	const tell = (value: unknown) => onChange({ [name]: value })
	const update = controlOf(knob, name)
	return (shown) => {
		row.hidden = !isUsed(name, shown.settings)
		setText(label, shown.words.knobs[name])
		update(shown)
	}

	function controlOf(made: Knob, of: LabelledName): Update {
		if (made.kind === 'slider') return addSlider(row, id, of, made, tell)
		if (made.kind === 'choice') return addChoice(row, id, of, made, tell)
		return addSwitch(row, id, of, tell)
	}
}

function addSlider(
	row: Element,
	id: string,
	name: LabelledName,
	{ values, unit }: Slider,
	tell: (value: number) => void,
): Update {
	const input = make('input', { id, type: 'range', min: 0, max: values.length - 1, step: 1 })
	// The slider says it itself to those who hear the page.
	const text = make('span', { class: 'value', 'aria-hidden': 'true' })
	row.append(text, input)
	input.addEventListener('input', () => tell(values[input.valueAsNumber] ?? 0))
	return ({ settings, words }) => {
		const value = Number(settings[name])
		const said = value === Infinity ? endless(words, name) : written(value, unit)
		input.valueAsNumber = values.indexOf(value)
		input.style.setProperty('--share', String(values.indexOf(value) / (values.length - 1)))
		input.setAttribute('aria-valuetext', said)
		setText(text, said)
	}
}

const endless = ({ endless: texts }: Words, name: LabelledName): string =>
	Object.hasOwn(texts, name) ? texts[name as keyof typeof texts] : '∞'

function addChoice(
	row: Element,
	id: string,
	name: LabelledName,
	{ options }: Choice,
	tell: (value: string) => void,
): Update {
	const items = options.map((value) => make('option', { value }))
	const select = make('select', { id }, ...items)
	row.append(select)
	select.addEventListener('change', () => tell(select.value))
	return ({ settings, words }) => {
		const texts: Readonly<Record<string, string>> = words.options[name as keyof Words['options']]
		for (const item of items) setText(item, texts[item.value] ?? item.value)
		select.value = String(settings[name])
	}
}

function addSwitch(row: Element, id: string, name: LabelledName, tell: (value: boolean) => void): Update {
	const input = make('input', { id, type: 'checkbox' })
	row.prepend(input)
	input.addEventListener('change', () => tell(input.checked))
	return ({ settings }) => {
		input.checked = settings[name] === true
	}
}
