# SPDX-License-Identifier: MIT
"""Compares a live JSON-RPC answer with a golden one: subset of members, <tokens>, {$any_of}, {$contains}, {$absent_in}.

See tests/conformance/goldens/README.md.
"""
import json
import re

ISO = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$')


class Fail(Exception):
    pass


# ---------------------------------------------------------------- comparison
def match(want, got, vars_, path='$'):
    """want is the golden: subset semantics, <tokens>, {$any_of}, {$contains}."""
    if isinstance(want, str):
        if want.startswith('$') and want[1:] in vars_:
            want = vars_[want[1:]]
        elif re.match(r'^<[a-z0-9_:.\-^$*+?\\\[\](){}|/ ]+>$', want, re.I):
            return token(want[1:-1], got, vars_, path)
        else:
            want = subst(want, vars_)
    if isinstance(want, dict):
        if '$any_of' in want:
            errs = []
            for alt in want['$any_of']:
                try:
                    return match(alt, got, vars_, path)
                except Fail as e:
                    errs.append(str(e))
            raise Fail('%s: no alternative fits: %s' % (path, ' | '.join(errs)))
        if '$contains' in want:
            if not isinstance(got, list):
                raise Fail('%s: expected a list, got %s' % (path, brief(got)))
            for el in want['$contains']:
                for g in got:
                    try:
                        match(el, g, vars_, path)
                        break
                    except Fail:
                        pass
                else:
                    raise Fail('%s: no element like %s' % (path, brief(el)))
            return
        if '$absent_in' in want:
            for el in want['$absent_in']:
                for g in got if isinstance(got, list) else [got]:
                    try:
                        match(el, g, vars_, path)
                    except Fail:
                        continue
                    raise Fail('%s: unexpected element like %s' % (path, brief(el)))
            return
        if not isinstance(got, dict):
            raise Fail('%s: expected an object, got %s' % (path, brief(got)))
        for k, v in want.items():
            if k not in got:
                raise Fail('%s.%s: missing' % (path, k))
            match(v, got[k], vars_, path + '.' + k)
        return
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            raise Fail('%s: expected a list of %d, got %s' % (path, len(want), brief(got)))
        for i, (w, g) in enumerate(zip(want, got)):
            match(w, g, vars_, '%s[%d]' % (path, i))
        return
    if isinstance(want, bool) or isinstance(got, bool) or want is None:
        if want is not got and want != got or type(want) is not type(got):
            raise Fail('%s: expected %s, got %s' % (path, brief(want), brief(got)))
        return
    if want != got:
        raise Fail('%s: expected %s, got %s' % (path, brief(want), brief(got)))


def token(t, got, vars_, path):
    ok = {
        'any': lambda: True,
        'int': lambda: isinstance(got, int) and not isinstance(got, bool),
        'pid': lambda: isinstance(got, int) and not isinstance(got, bool) and got > 0,
        'num': lambda: isinstance(got, (int, float)) and not isinstance(got, bool),
        'bool': lambda: isinstance(got, bool),
        'str': lambda: isinstance(got, str),
        'nonempty': lambda: isinstance(got, str) and got != '',
        'iso8601': lambda: isinstance(got, str) and bool(ISO.match(got)),
        'obj': lambda: isinstance(got, dict),
        'list': lambda: isinstance(got, list),
        'empty': lambda: got in (None, '', [], {}),
    }
    if t in ok:
        good = ok[t]()
    elif t.startswith('re:'):
        good = isinstance(got, str) and re.search(t[3:], got) is not None
    elif t.startswith('len:'):
        good = isinstance(got, (str, list)) and len(got) == int(t[4:])
    elif t.startswith('ge:'):
        good = isinstance(got, (int, float)) and got >= float(t[3:])
    else:
        raise Fail('%s: bad token <%s>' % (path, t))
    if not good:
        raise Fail('%s: expected <%s>, got %s' % (path, t, brief(got)))


def brief(v):
    s = json.dumps(v, ensure_ascii=True)
    return s if len(s) < 300 else s[:297] + '...'


def subst(v, vars_):
    if isinstance(v, str):
        if v.startswith('$') and v[1:] in vars_:
            return vars_[v[1:]]
        return re.sub(r'\$\{(\w+)\}', lambda m: str(vars_.get(m.group(1), m.group(0))), v)
    if isinstance(v, dict):
        if set(v) == {'$repeat', '$times'}:
            return v['$repeat'] * v['$times']
        return {k: subst(x, vars_) for k, x in v.items()}
    if isinstance(v, list):
        return [subst(x, vars_) for x in v]
    return v


def dig(v, dotted):
    for p in dotted.split('.'):
        v = v[int(p)] if isinstance(v, list) else v[p]
    return v
